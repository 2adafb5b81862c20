# A cluster at home with one group of machines for peaks.

terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0, < 7.0"
    }
  }
}

provider "aws" {
  region = "eu-central-1"
}

module "dynk8s" {
  source = "../"

  name            = "home"
  provisioner_url = "https://dynk8s.onprem.example"
  provisioner_key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
  vpc_id          = "vpc-0123456789abcdef0"
  subnet_ids      = ["subnet-0123456789abcdef0"]

  networks = {
    tunnel   = ["10.98.0.0/24"]
    pods     = ["10.244.0.0/16"]
    services = ["10.96.0.0/12"]
    premises = ["192.168.10.0/24"]
  }

  node_groups = {
    burst = {
      image         = "ami-0123456789abcdef0"
      instance_type = "m7g.large"
      max_size      = 4
      labels        = { "example.com/burst" = "true", "node-role.kubernetes.io/worker" = "" }
      taints        = [{ key = "example.com/burst", value = "true", effect = "NoSchedule" }]
    }
  }
}

output "provisioner_toml" {
  value = module.dynk8s.provisioner_toml
}
