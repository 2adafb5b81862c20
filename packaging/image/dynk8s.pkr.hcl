# Images of Fedora in which everything is installed that a node needs; their user data are ../../cloud-init/baked.yaml.
#   packer init . && packer build -var region=eu-central-1 -var packages=../../target/rpm -var version=0.1.0 .
# `-only 'amazon-ebs.x86_64'` or `-only 'amazon-ebs.arm64'` makes one of the two.

packer {
  required_version = ">= 1.9"
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "~> 1.3"
    }
  }
}

variable "region" {
  type        = string
  description = "Where the images are made."
}

variable "packages" {
  type        = string
  description = "The folder with the packages that `make rpm` has made."
}

variable "version" {
  type        = string
  description = "The version of the agent."
}

variable "fedora" {
  type        = string
  default     = "44"
  description = "The release of Fedora."
}

variable "kubernetes_release" {
  type        = string
  default     = "1.37"
  description = "The minor release of kubeadm, kubelet and CRI-O: the cluster's, or the one before."

  validation {
    condition     = can(regex("^1\\.[0-9]+$", var.kubernetes_release))
    error_message = "The release is two numbers, as in 1.37."
  }
}

locals {
  name = "dynk8s-${var.version}-kubernetes-${var.kubernetes_release}-fedora-${var.fedora}"
  made = formatdate("YYYYMMDDhhmm", timestamp())
}

source "amazon-ebs" "fedora" {
  region        = var.region
  ssh_username  = "fedora"
  ebs_optimized = true
  encrypt_boot  = true

  metadata_options {
    http_endpoint               = "enabled"
    http_put_response_hop_limit = 1
    http_tokens                 = "required"
  }
}

build {
  source "amazon-ebs.fedora" {
    name          = "x86_64"
    ami_name      = "${local.name}-x86_64-${local.made}"
    instance_type = "t3.medium"

    source_ami_filter {
      owners      = ["125523088429"] # Fedora
      most_recent = true
      filters = {
        architecture        = "x86_64"
        name                = "Fedora-Cloud-Base-AmazonEC2.x86_64-${var.fedora}-*"
        root-device-type    = "ebs"
        virtualization-type = "hvm"
      }
    }
  }

  source "amazon-ebs.fedora" {
    name          = "arm64"
    ami_name      = "${local.name}-arm64-${local.made}"
    instance_type = "t4g.medium"

    source_ami_filter {
      owners      = ["125523088429"] # Fedora
      most_recent = true
      filters = {
        architecture        = "arm64"
        name                = "Fedora-Cloud-Base-AmazonEC2.aarch64-${var.fedora}-*"
        root-device-type    = "ebs"
        virtualization-type = "hvm"
      }
    }
  }

  provisioner "file" {
    only        = ["amazon-ebs.x86_64"]
    source      = "${var.packages}/dynk8s-agent-${var.version}-1.x86_64.rpm"
    destination = "/tmp/dynk8s-agent.rpm"
  }

  provisioner "file" {
    only        = ["amazon-ebs.arm64"]
    source      = "${var.packages}/dynk8s-agent-${var.version}-1.aarch64.rpm"
    destination = "/tmp/dynk8s-agent.rpm"
  }

  provisioner "shell" {
    script          = "${path.root}/provision.sh"
    execute_command = "sudo env {{ .Vars }} sh {{ .Path }}"
    environment_vars = [
      "KUBERNETES_RELEASE=${var.kubernetes_release}",
      "PACKAGE=/tmp/dynk8s-agent.rpm",
    ]
  }
}
