# The same labels, taints and resources in two forms: for the autoscaler and for the provisioner.

output "tags" {
  description = "Tags of the Auto Scaling group, by which the autoscaler predicts a node that does not exist yet."
  value = merge(
    { for key, value in var.labels : "k8s.io/cluster-autoscaler/node-template/label/${key}" => value },
    { for taint in var.taints : "k8s.io/cluster-autoscaler/node-template/taint/${taint.key}" => "${taint.value}:${taint.effect}" },
    { for name, quantity in var.resources : "k8s.io/cluster-autoscaler/node-template/resources/${name}" => quantity },
  )
}

# A string of JSON is a string of TOML too.
output "toml" {
  description = "The node group in the provisioner's configuration."
  value = templatefile("${path.module}/node-group.toml.tftpl", {
    settings = merge(
      {
        name     = jsonencode(var.name)
        accounts = jsonencode([var.account])
        regions  = jsonencode([var.region])
      },
      var.auto_scaling_group == null ? {} : { auto_scaling_groups = jsonencode([var.auto_scaling_group]) },
      var.keys == null ? {} : { keys = jsonencode(var.keys) },
    )
    labels    = var.labels
    taints    = var.taints
    resources = var.resources
  })
}
