# The tables of core/storage/tables.py; a test compares them. Only a new name or key replaces a table, and only
# `name_prefix` changes either.
locals {
  on_demand = var.provisioned_capacity == null
  # Provisioned capacity starts at the minimum; autoscaling moves it from there.
  minimum = { for table in ["scores", "counters", "boards"] : table => local.on_demand ? null : var.provisioned_capacity[table] }

  tables = {
    scores   = aws_dynamodb_table.scores
    counters = aws_dynamodb_table.counters
    boards   = aws_dynamodb_table.boards
    records  = aws_dynamodb_table.records
    receipts = aws_dynamodb_table.receipts
  }
  # On demand, null is no ceiling.
  ceilings = { for name in ["scores", "counters", "boards", "records", "receipts"] : name => try([var.on_demand_ceilings[name]], []) }

  indexes = {
    scores-by-rank = { table = "scores", name = "by_rank" }
    boards-by-id   = { table = "boards", name = "by_id" }
    boards-by-due  = { table = "boards", name = "by_due" }
  }
}

resource "aws_dynamodb_table" "scores" {
  name                        = "${var.name_prefix}-scores"
  billing_mode                = local.on_demand ? "PAY_PER_REQUEST" : "PROVISIONED"
  read_capacity               = local.on_demand ? null : local.minimum.scores.read_min
  write_capacity              = local.on_demand ? null : local.minimum.scores.write_min
  hash_key                    = "participant"
  range_key                   = "standings"
  stream_enabled              = true
  stream_view_type            = "NEW_AND_OLD_IMAGES"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags

  attribute {
    name = "participant"
    type = "S"
  }

  attribute {
    name = "standings"
    type = "S"
  }

  attribute {
    name = "rank_shard"
    type = "S"
  }

  attribute {
    name = "rank_key"
    type = "B"
  }

  global_secondary_index {
    name               = "by_rank"
    hash_key           = "rank_shard"
    range_key          = "rank_key"
    projection_type    = "INCLUDE"
    non_key_attributes = jsondecode(file("${path.module}/rank_index.json"))
    read_capacity      = local.on_demand ? null : local.minimum.scores.read_min
    write_capacity     = local.on_demand ? null : local.minimum.scores.write_min

    dynamic "on_demand_throughput" {
      for_each = local.ceilings.scores
      content {
        max_read_request_units  = on_demand_throughput.value.read
        max_write_request_units = on_demand_throughput.value.write
      }
    }
  }

  ttl {
    attribute_name = "expires_at"
    enabled        = true
  }

  dynamic "on_demand_throughput" {
    for_each = local.ceilings.scores
    content {
      max_read_request_units  = on_demand_throughput.value.read
      max_write_request_units = on_demand_throughput.value.write
    }
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }

  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }

  lifecycle {
    # Autoscaling moves these. Terraform cannot ignore an index's capacity alone: a release that changes the
    # index has to lift this line.
    ignore_changes = [read_capacity, write_capacity, global_secondary_index]
  }
}

resource "aws_dynamodb_table" "counters" {
  name                        = "${var.name_prefix}-counters"
  billing_mode                = local.on_demand ? "PAY_PER_REQUEST" : "PROVISIONED"
  read_capacity               = local.on_demand ? null : local.minimum.counters.read_min
  write_capacity              = local.on_demand ? null : local.minimum.counters.write_min
  hash_key                    = "standings"
  range_key                   = "node"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags

  attribute {
    name = "standings"
    type = "S"
  }

  attribute {
    name = "node"
    type = "S"
  }

  ttl {
    attribute_name = "expires_at"
    enabled        = true
  }

  dynamic "on_demand_throughput" {
    for_each = local.ceilings.counters
    content {
      max_read_request_units  = on_demand_throughput.value.read
      max_write_request_units = on_demand_throughput.value.write
    }
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }

  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }

  lifecycle {
    ignore_changes = [read_capacity, write_capacity]
  }
}

resource "aws_dynamodb_table" "boards" {
  name                        = "${var.name_prefix}-boards"
  billing_mode                = local.on_demand ? "PAY_PER_REQUEST" : "PROVISIONED"
  read_capacity               = local.on_demand ? null : local.minimum.boards.read_min
  write_capacity              = local.on_demand ? null : local.minimum.boards.write_min
  hash_key                    = "board"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags

  attribute {
    name = "board"
    type = "S"
  }

  attribute {
    name = "listed"
    type = "S"
  }

  attribute {
    name = "due_at"
    type = "N"
  }

  global_secondary_index {
    name            = "by_id"
    hash_key        = "listed"
    range_key       = "board"
    projection_type = "ALL"
    read_capacity   = local.on_demand ? null : local.minimum.boards.read_min
    write_capacity  = local.on_demand ? null : local.minimum.boards.write_min

    dynamic "on_demand_throughput" {
      for_each = local.ceilings.boards
      content {
        max_read_request_units  = on_demand_throughput.value.read
        max_write_request_units = on_demand_throughput.value.write
      }
    }
  }

  global_secondary_index {
    name            = "by_due"
    hash_key        = "listed"
    range_key       = "due_at"
    projection_type = "ALL"
    read_capacity   = local.on_demand ? null : local.minimum.boards.read_min
    write_capacity  = local.on_demand ? null : local.minimum.boards.write_min

    dynamic "on_demand_throughput" {
      for_each = local.ceilings.boards
      content {
        max_read_request_units  = on_demand_throughput.value.read
        max_write_request_units = on_demand_throughput.value.write
      }
    }
  }

  dynamic "on_demand_throughput" {
    for_each = local.ceilings.boards
    content {
      max_read_request_units  = on_demand_throughput.value.read
      max_write_request_units = on_demand_throughput.value.write
    }
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }

  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }

  lifecycle {
    ignore_changes = [read_capacity, write_capacity, global_secondary_index]
  }
}

# Written once and read rarely: always on demand.
resource "aws_dynamodb_table" "records" {
  name                        = "${var.name_prefix}-records"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "record_set"
  range_key                   = "record_id"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags

  attribute {
    name = "record_set"
    type = "S"
  }

  attribute {
    name = "record_id"
    type = "S"
  }

  ttl {
    attribute_name = "expires_at"
    enabled        = true
  }

  dynamic "on_demand_throughput" {
    for_each = local.ceilings.records
    content {
      max_read_request_units  = on_demand_throughput.value.read
      max_write_request_units = on_demand_throughput.value.write
    }
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }

  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }
}

# Always on demand: its writes rise and fall with the submissions that carry an id.
resource "aws_dynamodb_table" "receipts" {
  name                        = "${var.name_prefix}-receipts"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "receipt"
  deletion_protection_enabled = var.deletion_protection
  tags                        = local.tags

  attribute {
    name = "receipt"
    type = "S"
  }

  ttl {
    attribute_name = "expires_at"
    enabled        = true
  }

  dynamic "on_demand_throughput" {
    for_each = local.ceilings.receipts
    content {
      max_read_request_units  = on_demand_throughput.value.read
      max_write_request_units = on_demand_throughput.value.write
    }
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }

  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }
}
