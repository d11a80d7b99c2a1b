# No provider block: as a root module this takes region, credentials and endpoint from the environment, and as a
# child module its caller's provider.
terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7.0"
    }
  }
}
