# For an image in which everything is installed.

locals {
  # A string of JSON is a string of TOML too.
  agent = <<-EOT
    provisioner = ${jsonencode(var.provisioner_url)}
    provisioner_key = ${jsonencode(var.provisioner_key)}
    swap = ${jsonencode(var.swap)}
    on_failure = ${jsonencode(var.on_failure)}
  EOT

  config = yamlencode({
    write_files = [{ path = "/etc/dynk8s/agent.toml", permissions = "0644", content = local.agent }]
    runcmd      = [["dynk8s-agent", "bootstrap"]]
  })

  text = "#cloud-config\n${local.config}"
}

output "text" {
  description = "User data for cloud-init."
  value       = local.text

  precondition {
    condition     = length(local.text) <= 16384
    error_message = "EC2 takes at most 16 KB of user data."
  }
}
