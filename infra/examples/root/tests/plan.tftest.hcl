# The example fits the module, with the variables of each environment: `make infra-test` names the file.
mock_provider "aws" {
  source = "../../tests/mocks"
}

variables {
  package_dir = "../../tests/package"
}

run "callers" {
  assert {
    condition     = length(regexall("Mutation/fields/submitScores?\"", aws_iam_policy.game_server.policy)) == 2 && !strcontains(aws_iam_policy.game_server.policy, "types/Mutation/*") && strcontains(aws_iam_policy.game_server.policy, "${module.leaderboard.api_arn}/types/Entry/*")
    error_message = "A game server reads and submits, and no more."
  }

  assert {
    condition     = alltrue([for key in aws_kms_key.leaderboard : anytrue([for statement in jsondecode(key.policy).Statement : try(statement.Principal.Service == "logs.${var.region}.amazonaws.com", false)])])
    error_message = "CloudWatch Logs may use the key."
  }
}
