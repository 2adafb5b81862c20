# What the cluster must be told.

output "provisioner_toml" {
  description = "Parts of the provisioner's configuration: its topics, that it asks EC2, and its node groups."
  value = join("\n", concat(
    ["[sns]\ntopics = [${jsonencode(aws_sns_topic.events.arn)}]\n\n[aws]\n"],
    [for name in keys(var.node_groups) : module.node_group[name].toml],
  ))
}

output "provisioner_policy_arn" {
  description = "The policy of the provisioner's credentials."
  value       = aws_iam_policy.provisioner.arn
}

output "autoscaler_discovery" {
  description = "The Cluster Autoscaler's `--node-group-auto-discovery`."
  value       = "asg:tag=${join(",", keys(local.discovery))}"
}

output "auto_scaling_groups" {
  description = "The names of the Auto Scaling groups by node group."
  value       = { for name, group in aws_autoscaling_group.nodes : name => group.name }
}

output "topic_arn" {
  description = "The topic that the provisioner hears."
  value       = aws_sns_topic.events.arn
}

output "security_group_id" {
  description = "The security group of the nodes."
  value       = aws_security_group.nodes.id
}

output "node_role_arn" {
  description = "The role of the nodes, if there is one."
  value       = one(aws_iam_role.node[*].arn)
}
