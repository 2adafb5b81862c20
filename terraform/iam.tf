# What the provisioner may ask, and what instances may do.

# Lists have no resource to name. A condition would hide instances, which the provisioner would take for gone.
resource "aws_iam_policy" "provisioner" {
  #checkov:skip=CKV_AWS_355:the three describing actions know no resource
  name        = "${local.prefix}-provisioner"
  description = "What the provisioner of dynk8s asks EC2, Auto Scaling and SNS"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "Describe"
        Effect   = "Allow"
        Action   = ["ec2:DescribeInstances", "autoscaling:DescribeTags", "autoscaling:DescribeAutoScalingGroups"]
        Resource = "*"
      },
      {
        Sid      = "Topic"
        Effect   = "Allow"
        Action   = "sns:GetTopicAttributes"
        Resource = aws_sns_topic.events.arn
      },
    ]
  })
  tags = var.tags
}

locals {
  has_profile = var.instance_profile || length(var.additional_policy_arns) > 0
}

resource "aws_iam_role" "node" {
  count = local.has_profile ? 1 : 0

  name = "${local.prefix}-node"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "EC2"
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = var.additional_policy_arns

  role       = aws_iam_role.node[0].name
  policy_arn = each.value
}

resource "aws_iam_instance_profile" "node" {
  count = local.has_profile ? 1 : 0

  name = "${local.prefix}-node"
  role = aws_iam_role.node[0].name
  tags = var.tags
}
