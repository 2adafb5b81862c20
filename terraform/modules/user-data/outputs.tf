# For an image in which everything is installed. What is filled in has no character that YAML or TOML would mind.

locals {
  text = templatefile("${path.module}/../../../cloud-init/baked.yaml", {
    provisioner     = var.provisioner_url
    provisioner_key = var.provisioner_key
  })
}

output "text" {
  description = "User data for cloud-init."
  value       = local.text

  precondition {
    condition     = length(local.text) <= 16384
    error_message = "EC2 takes at most 16 KB of user data."
  }
}
