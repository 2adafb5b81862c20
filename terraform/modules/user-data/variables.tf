# What a machine is told at its launch. There is no variable for a secret, so none can get in.

terraform {
  required_version = ">= 1.9"
}

variable "provisioner_url" {
  description = "The provisioner's public URL."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?/?$", var.provisioner_url))
    error_message = "The provisioner's URL is https://name or https://name:port, without a path."
  }
}

variable "provisioner_key" {
  description = "The provisioner's public key, as `dynk8s-provisioner key` prints it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9+/]{43}=$", var.provisioner_key))
    error_message = "The provisioner's key is 32 bytes in base64, as `dynk8s-provisioner key` prints it."
  }
}
