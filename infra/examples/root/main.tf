# A root module around the stack: copy it, and point `source` to a checkout of a release whose zips are built
# (`make package`).
#
#   terraform init -backend-config=environments/staging.s3.tfbackend
#   terraform apply -var-file=environments/staging.tfvars
#
# Each environment has its own state, and may have its own account. `terraform init -reconfigure` goes from one to the
# other; a folder or a workspace for each does as well.
terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7.0"
    }
  }

  # The state holds API keys and the events' secret: encrypt the bucket, and let few read it.
  # backend "s3" {}
}

provider "aws" {
  region = var.region
}

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}

locals {
  account = data.aws_caller_identity.current.account_id
}

resource "aws_sns_topic" "on_call" {
  name              = "${var.name_prefix}-on-call"
  kms_master_key_id = one(aws_kms_key.leaderboard[*].arn) # not AWS's key for SNS: alarms could not use it
}

module "leaderboard" {
  source = "../.."

  name_prefix          = var.name_prefix
  package_dir          = var.package_dir
  kms_key_arn          = one(aws_kms_key.leaderboard[*].arn)
  alarm_actions        = [aws_sns_topic.on_call.arn]
  deletion_protection  = var.deletion_protection
  api_keys             = var.api_keys
  waf_rate_limit       = var.waf_rate_limit
  reserved_concurrency = var.reserved_concurrency
  on_demand_ceilings   = var.on_demand_ceilings
  budget               = var.budget
}
