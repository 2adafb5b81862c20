# What a machine is told. No provider is needed.

variables {
  provisioner_url = "https://dynk8s.onprem.example"
  provisioner_key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
}

run "the_agent_learns_where_the_provisioner_is_and_nothing_else" {
  command = plan

  assert {
    condition     = startswith(output.text, "#cloud-config\n")
    error_message = "cloud-init knows its configuration by the first line."
  }
  assert {
    condition     = join(" ", keys(yamldecode(output.text))) == "runcmd write_files"
    error_message = "User data write a file and start the agent: nothing else, and no secret."
  }
  assert {
    condition = yamldecode(output.text).write_files[0].content == join("\n", [
      "provisioner = \"https://dynk8s.onprem.example\"",
      "provisioner_key = \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"",
      "",
    ])
    error_message = "agent.toml holds the public URL and the public key."
  }
  assert {
    condition     = length(output.text) < 16384
    error_message = "EC2 takes at most 16 KB."
  }
}

run "a_url_without_tls_is_refused" {
  command = plan
  variables {
    provisioner_url = "http://dynk8s.onprem.example"
  }
  expect_failures = [var.provisioner_url]
}

run "a_url_with_a_password_is_refused" {
  command = plan
  variables {
    provisioner_url = "https://a:b@dynk8s.onprem.example"
  }
  expect_failures = [var.provisioner_url]
}

run "half_a_key_is_refused" {
  command = plan
  variables {
    provisioner_key = "AAECAwQFBgcICQoLDA0ODw=="
  }
  expect_failures = [var.provisioner_key]
}
