# Nobody reaches a node from the VPC or the internet: the tunnel is opened from within.

data "aws_vpc" "nodes" {
  id = var.vpc_id
}

module "networks" {
  source = "./modules/networks"

  networks = {
    "VPC"      = data.aws_vpc.nodes.cidr_block_associations[*].cidr_block
    "tunnel"   = var.networks.tunnel
    "pods"     = var.networks.pods
    "services" = var.networks.services
    "premises" = var.networks.premises
    "metadata" = ["169.254.0.0/16"]
  }
}

resource "aws_security_group" "nodes" {
  name        = "${local.prefix}-node"
  description = "Nodes of dynk8s: nothing comes in"
  vpc_id      = var.vpc_id
  tags        = var.tags

  # Whoever uses the group waits for the networks to be right.
  depends_on = [module.networks]
}

resource "aws_vpc_security_group_egress_rule" "nodes" {
  #checkov:skip=CKV_AWS_382:the WireGuard gateway, the provisioner, registries and mirrors are anywhere
  security_group_id = aws_security_group.nodes.id
  description       = "WireGuard, the provisioner, registries"
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}
