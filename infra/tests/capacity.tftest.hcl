# Ceilings of tables on demand, set when a stack is created.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  package_dir = "./tests/package"
}

run "a_table_and_its_index_have_a_ceiling" {
  command = plan

  variables {
    on_demand_ceilings = { scores = { read = 5000, write = 1000 } }
  }

  assert {
    condition     = aws_dynamodb_table.scores.on_demand_throughput[0].max_write_request_units == 1000 && one(aws_dynamodb_table.scores.global_secondary_index).on_demand_throughput[0].max_read_request_units == 5000 && length(aws_dynamodb_table.counters.on_demand_throughput) == 0
    error_message = "A table and its index have a ceiling."
  }
}

run "one_kind_of_capacity" {
  command = plan

  variables {
    on_demand_ceilings = { boards = { read = 5, write = 5 } }
    provisioned_capacity = {
      scores   = { read_min = 5, read_max = 100, write_min = 10, write_max = 200 }
      counters = { read_min = 5, read_max = 100, write_min = 5, write_max = 100 }
      boards   = { read_min = 1, read_max = 10, write_min = 1, write_max = 10 }
    }
  }

  expect_failures = [var.on_demand_ceilings]
}
