# The groups that the autoscaler grows and shrinks.

data "aws_caller_identity" "current" {}

data "aws_region" "current" {}

module "node_group" {
  source   = "./modules/node-group"
  for_each = var.node_groups

  name               = each.key
  account            = data.aws_caller_identity.current.account_id
  region             = data.aws_region.current.region
  auto_scaling_group = "${local.prefix}-${each.key}"
  keys               = each.value.keys
  labels             = each.value.labels
  taints             = each.value.taints
  resources          = each.value.resources
}

module "user_data" {
  source = "./modules/user-data"

  provisioner_url = var.provisioner_url
  provisioner_key = var.provisioner_key
}

locals {
  discovery = {
    "k8s.io/cluster-autoscaler/enabled"     = "true"
    "k8s.io/cluster-autoscaler/${var.name}" = "owned"
  }
}

resource "aws_launch_template" "nodes" {
  for_each = var.node_groups

  name                                 = "${local.prefix}-${each.key}"
  image_id                             = each.value.image
  instance_type                        = each.value.instance_type
  instance_initiated_shutdown_behavior = "terminate"
  update_default_version               = true
  user_data                            = base64encode(module.user_data.text)
  vpc_security_group_ids               = [aws_security_group.nodes.id]
  tags                                 = var.tags

  # Pods do not get at it: one hop ends on the machine.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
    instance_metadata_tags      = "disabled"
  }

  block_device_mappings {
    device_name = each.value.root_device

    ebs {
      volume_size           = each.value.root_size
      volume_type           = "gp3"
      encrypted             = true
      delete_on_termination = true
    }
  }

  dynamic "iam_instance_profile" {
    for_each = aws_iam_instance_profile.node[*].arn
    content {
      arn = iam_instance_profile.value
    }
  }

  dynamic "instance_market_options" {
    for_each = each.value.spot ? ["spot"] : []
    content {
      market_type = instance_market_options.value
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags          = merge(var.tags, { Name = "${local.prefix}-${each.key}" })
  }
}

resource "aws_autoscaling_group" "nodes" {
  for_each = var.node_groups

  name                      = "${local.prefix}-${each.key}"
  min_size                  = each.value.min_size
  max_size                  = each.value.max_size
  vpc_zone_identifier       = var.subnet_ids
  wait_for_capacity_timeout = "0"
  # It would terminate nodes that have work.
  suspended_processes = ["AZRebalance"]

  launch_template {
    id      = aws_launch_template.nodes[each.key].id
    version = aws_launch_template.nodes[each.key].latest_version
  }

  dynamic "tag" {
    for_each = merge(local.discovery, module.node_group[each.key].tags)
    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = false
    }
  }

  dynamic "tag" {
    for_each = merge(var.tags, { Name = "${local.prefix}-${each.key}" })
    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = true
    }
  }

  lifecycle {
    # That is the autoscaler's to say.
    ignore_changes = [desired_capacity]
  }
}
