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

variable "swap" {
  description = "Whether swap is turned \"off\" before the join, or kept (\"keep\")."
  type        = string
  default     = "off"
  nullable    = false

  validation {
    condition     = contains(["off", "keep"], var.swap)
    error_message = "Swap is turned \"off\", or is to \"keep\"."
  }
}

variable "on_failure" {
  description = "What becomes of a machine whose journey failed: \"none\" (it stays and tries again), or \"poweroff\", so that its group replaces it."
  type        = string
  default     = "none"
  nullable    = false

  validation {
    condition     = contains(["none", "poweroff"], var.on_failure)
    error_message = "A machine whose journey failed does \"none\", or a \"poweroff\"."
  }
}
