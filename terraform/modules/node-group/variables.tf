# What the nodes of a group become, said once.

terraform {
  required_version = ">= 1.9"
}

variable "name" {
  description = "The group's name in the provisioner's configuration."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", var.name))
    error_message = "A group's name has at most 63 letters, digits, `-`, `_` and `.`."
  }
}

variable "account" {
  description = "The account of its instances."
  type        = string
  nullable    = false
}

variable "region" {
  description = "The region of its instances."
  type        = string
  nullable    = false
}

variable "auto_scaling_group" {
  description = "The Auto Scaling group that must have launched its instances; null if the provisioner does not ask EC2."
  type        = string
  default     = null
}

variable "keys" {
  description = "Which WireGuard keys its instances may have, by the labels of their Secrets; null: all."
  type        = string
  default     = null
}

variable "labels" {
  description = "Labels of its nodes."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for key in keys(var.labels) : can(regex("^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", key))])
    error_message = "A label's key is a name of at most 63 characters, perhaps behind a domain and a slash."
  }
  validation {
    condition     = alltrue([for value in values(var.labels) : can(regex("^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$", value))])
    error_message = "A label's value has at most 63 letters, digits, `-`, `_` and `.`, or is empty."
  }
  validation {
    condition     = alltrue([for key in keys(var.labels) : length("k8s.io/cluster-autoscaler/node-template/label/${key}") <= 128])
    error_message = "A tag's key has at most 128 characters, so a label's key has at most 81."
  }
}

variable "taints" {
  description = "Taints of its nodes."
  type = list(object({
    key    = string
    value  = optional(string, "")
    effect = string
  }))
  default  = []
  nullable = false

  validation {
    condition     = alltrue([for taint in var.taints : contains(["NoSchedule", "PreferNoSchedule", "NoExecute"], taint.effect)])
    error_message = "A taint's effect is NoSchedule, PreferNoSchedule or NoExecute."
  }
  validation {
    condition     = length(distinct(var.taints[*].key)) == length(var.taints)
    error_message = "The autoscaler knows one taint of each key, since the key is the name of a tag."
  }
  validation {
    condition     = alltrue([for taint in var.taints : can(regex("^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$", taint.key))])
    error_message = "A taint's key is a name of at most 63 characters, perhaps behind a domain and a slash."
  }
  validation {
    condition     = alltrue([for taint in var.taints : can(regex("^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$", taint.value))])
    error_message = "A taint's value has at most 63 letters, digits, `-`, `_` and `.`, or is empty."
  }
  validation {
    condition     = alltrue([for taint in var.taints : length("k8s.io/cluster-autoscaler/node-template/taint/${taint.key}") <= 128])
    error_message = "A tag's key has at most 128 characters, so a taint's key has at most 81."
  }
}

variable "resources" {
  description = "What the autoscaler is to predict of a node beyond its instance type, such as `ephemeral-storage`."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for quantity in values(var.resources) : can(regex("^[0-9]+(\\.[0-9]+)?(m|[kMGTPE]i?|Ki)?$", quantity))])
    error_message = "A resource is a quantity such as 4 or 16Gi."
  }
}
