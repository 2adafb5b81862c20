# Labels and taints are given once, and autoscaler and provisioner are told the same. No provider is needed.

variables {
  name               = "burst"
  account            = "123456789012"
  region             = "eu-central-1"
  auto_scaling_group = "dynk8s-home-burst"
  keys               = "example.com/pool=burst"
  labels = {
    "example.com/burst"              = "true"
    "node-role.kubernetes.io/worker" = ""
  }
  taints = [
    { key = "example.com/burst", value = "true", effect = "NoSchedule" },
    { key = "example.com/draining", effect = "PreferNoSchedule" },
  ]
  resources = { "ephemeral-storage" = "25Gi" }
}

run "tags_predict_the_node" {
  command = plan

  assert {
    condition = tomap(output.tags) == tomap({
      "k8s.io/cluster-autoscaler/node-template/label/example.com/burst"              = "true"
      "k8s.io/cluster-autoscaler/node-template/label/node-role.kubernetes.io/worker" = ""
      "k8s.io/cluster-autoscaler/node-template/taint/example.com/burst"              = "true:NoSchedule"
      "k8s.io/cluster-autoscaler/node-template/taint/example.com/draining"           = ":PreferNoSchedule"
      "k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage"          = "25Gi"
    })
    error_message = "The tags must say what the group says, and nothing else."
  }
}

run "the_provisioner_is_told_the_same" {
  command = plan

  assert {
    condition     = output.toml == file("./testdata/burst.toml")
    error_message = "testdata/burst.toml differs: ${output.toml}"
  }
}

run "a_group_that_says_nothing_has_no_tags" {
  command = plan

  variables {
    auto_scaling_group = null
    keys               = null
    labels             = {}
    taints             = []
    resources          = {}
  }

  assert {
    condition     = length(output.tags) == 0
    error_message = "Nothing is to be predicted."
  }
  assert {
    condition     = output.toml == file("./testdata/plain.toml")
    error_message = "testdata/plain.toml differs: ${output.toml}"
  }
}

run "a_name_with_a_space_is_refused" {
  command = plan
  variables {
    name = "burst nodes"
  }
  expect_failures = [var.name]
}

run "a_label_that_kubernetes_admits_nowhere_is_refused" {
  command = plan
  variables {
    labels = { "example.com/a/b" = "true" }
  }
  expect_failures = [var.labels]
}

run "a_value_with_a_quote_is_refused" {
  command = plan
  variables {
    labels = { "example.com/burst" = "tr\"ue" }
  }
  expect_failures = [var.labels]
}

run "a_label_too_long_for_a_tag_is_refused" {
  command = plan
  variables {
    labels = { "a-domain-of-forty-characters.example.com.example/a-name-of-forty-characters-for-a-label-xy" = "" }
  }
  expect_failures = [var.labels]
}

run "an_effect_that_does_not_exist_is_refused" {
  command = plan
  variables {
    taints = [{ key = "example.com/burst", effect = "Never" }]
  }
  expect_failures = [var.taints]
}

run "two_taints_of_one_key_have_no_tags_of_their_own" {
  command = plan
  variables {
    taints = [
      { key = "example.com/burst", effect = "NoSchedule" },
      { key = "example.com/burst", effect = "NoExecute" },
    ]
  }
  expect_failures = [var.taints]
}

run "a_taint_with_a_colon_is_refused" {
  command = plan
  variables {
    taints = [{ key = "example.com/burst", value = "a:b", effect = "NoSchedule" }]
  }
  expect_failures = [var.taints]
}

run "a_resource_is_a_quantity" {
  command = plan
  variables {
    resources = { "ephemeral-storage" = "much" }
  }
  expect_failures = [var.resources]
}
