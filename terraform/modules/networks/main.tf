# Networks that a node is in at once. Two that overlap would make one of them unreachable from it, silently.

terraform {
  required_version = ">= 1.9"
}

variable "networks" {
  description = "Ranges (CIDR, IPv4 or IPv6) by what they are."
  type        = map(list(string))
  nullable    = false

  validation {
    condition = alltrue(flatten([
      for ranges in values(var.networks) : [for range in ranges : try(cidrhost(range, 0) == split("/", range)[0], false)]
    ]))
    error_message = "Each range must be a network such as 10.244.0.0/16, without bits of a host."
  }
}

locals {
  ranges = flatten([
    for name, ranges in var.networks : [
      for range in ranges : { name = name, range = range, address = split("/", range)[0], bits = tonumber(split("/", range)[1]) }
    ]
  ])

  pairs = [
    for pair in setproduct(range(length(local.ranges)), range(length(local.ranges))) : { one = local.ranges[pair[0]], other = local.ranges[pair[1]] }
    if pair[0] < pair[1]
  ]

  # Cut down to the shorter of their prefixes, two networks are the same, or have nothing in common.
  overlaps = [
    for pair in local.pairs : "${pair.one.range} (${pair.one.name}) and ${pair.other.range} (${pair.other.name})"
    if cidrhost("${pair.one.address}/${min(pair.one.bits, pair.other.bits)}", 0) == cidrhost("${pair.other.address}/${min(pair.one.bits, pair.other.bits)}", 0)
  ]
}

output "disjoint" {
  description = "The networks, none of which overlaps another."
  value       = var.networks

  precondition {
    condition     = length(local.overlaps) == 0
    error_message = "These networks overlap, so a node could not reach both: ${join("; ", local.overlaps)}. Give one of them another range."
  }
}
