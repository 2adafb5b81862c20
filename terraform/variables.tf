# What differs between clusters.

variable "name" {
  description = "The cluster's name. All names begin with `dynk8s-<name>`, and the autoscaler finds its groups by it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$", var.name))
    error_message = "A cluster's name has at most 32 small letters, digits and `-`."
  }
}

variable "provisioner_url" {
  description = "The provisioner's public URL, `https://name`."
  type        = string
  nullable    = false
}

variable "provisioner_key" {
  description = "The provisioner's public key, as `dynk8s-provisioner key` prints it."
  type        = string
  nullable    = false
}

variable "vpc_id" {
  description = "The VPC of the instances. Its ranges are read from AWS."
  type        = string
  nullable    = false
}

variable "subnet_ids" {
  description = "Subnets of that VPC, from which the internet is reached."
  type        = list(string)
  nullable    = false

  validation {
    condition     = length(var.subnet_ids) > 0
    error_message = "At least one subnet is needed."
  }
}

variable "networks" {
  description = "Your own networks. None may overlap another, or the VPC."
  type = object({
    tunnel   = list(string)
    pods     = list(string)
    services = list(string)
    premises = optional(list(string), [])
  })
  nullable = false
}

variable "node_groups" {
  description = "Node groups by name; labels, taints and resources become the autoscaler's tags and the provisioner's configuration."
  type = map(object({
    image         = string
    instance_type = string
    max_size      = number
    min_size      = optional(number, 0)
    spot          = optional(bool, false)
    root_device   = optional(string, "/dev/sda1")
    root_size     = optional(number, 30)
    labels        = optional(map(string), {})
    resources     = optional(map(string), {})
    keys          = optional(string)
    taints = optional(list(object({
      key    = string
      value  = optional(string, "")
      effect = string
    })), [])
  }))
  nullable = false

  validation {
    condition     = length(var.node_groups) > 0
    error_message = "At least one node group is needed."
  }
  validation {
    condition     = alltrue([for group in values(var.node_groups) : can(regex("^ami-[0-9a-f]+$", group.image))])
    error_message = "An image is the id of one, such as ami-0123456789abcdef0."
  }
  validation {
    condition     = alltrue([for group in values(var.node_groups) : 0 <= group.min_size && group.min_size <= group.max_size])
    error_message = "A group's min_size is between 0 and its max_size."
  }
}

variable "subscribe" {
  description = "Whether SNS sends to the provisioner, which must be there to confirm it: false until it is deployed."
  type        = bool
  default     = true
  nullable    = false
}

variable "topic_name" {
  description = "The topic's name, for one that exists already and is imported; null: `dynk8s-<name>`."
  type        = string
  default     = null
}

variable "alarm_actions" {
  description = "ARNs that are told when messages were lost on their way to the provisioner."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "instance_profile" {
  description = "Whether instances get a role of their own. dynk8s needs none."
  type        = bool
  default     = false
  nullable    = false
}

variable "additional_policy_arns" {
  description = "Policies of that role, such as the one that lets a kubelet pull from ECR. Any makes the role."
  type        = set(string)
  default     = []
  nullable    = false
}

variable "tags" {
  description = "Tags of everything."
  type        = map(string)
  default     = {}
  nullable    = false
}
