# Values that variables refuse.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  package_dir = "./tests/package"
}

run "bad_values_are_refused" {
  command = plan

  variables {
    name_prefix          = "Race!"
    kms_key_arn          = "my-key"
    architecture         = "mips"
    memory_size          = { api = 64 }
    reserved_concurrency = { queries = 1 }
    log_retention_days   = 31
    retention            = { grace_hours = 48, daily_days = 2 }
    api_log_level        = "WARN"
    api_keys             = { web = 366 }
    sign_in              = { client_ids = [] }
    query_depth_limit    = 100
    resolver_count_limit = 0
    waf_rate_limit       = 1
    stream               = { batch_size = 0 }
    provisioned_capacity = { scores = { read_min = 0, read_max = 1, write_min = 1, write_max = 1 } }
  }

  expect_failures = [
    var.name_prefix,
    var.kms_key_arn,
    var.architecture,
    var.memory_size,
    var.reserved_concurrency,
    var.log_retention_days,
    var.retention,
    var.api_log_level,
    var.api_keys,
    var.sign_in,
    var.query_depth_limit,
    var.resolver_count_limit,
    var.waf_rate_limit,
    var.stream,
    var.provisioned_capacity,
  ]
}

run "messages_must_not_come_back_unread" {
  command = plan

  variables {
    reserved_concurrency   = { notify = 4 }
    notify_max_concurrency = 5
  }

  expect_failures = [var.notify_max_concurrency]
}

run "a_mapping_has_two_invocations_at_least" {
  command = plan

  variables {
    notify_max_concurrency = 1
  }

  expect_failures = [var.notify_max_concurrency]
}
