# Only with provisioned capacity: each table and index scales between its minimum and maximum, at 70 % utilisation.
locals {
  scaled_resources = local.on_demand ? {} : {
    scores         = { path = "table/${aws_dynamodb_table.scores.name}", kind = "table", limits = var.provisioned_capacity.scores }
    scores_by_rank = { path = "table/${aws_dynamodb_table.scores.name}/index/by_rank", kind = "index", limits = var.provisioned_capacity.scores }
    counters       = { path = "table/${aws_dynamodb_table.counters.name}", kind = "table", limits = var.provisioned_capacity.counters }
    boards         = { path = "table/${aws_dynamodb_table.boards.name}", kind = "table", limits = var.provisioned_capacity.boards }
    boards_by_due  = { path = "table/${aws_dynamodb_table.boards.name}/index/by_due", kind = "index", limits = var.provisioned_capacity.boards }
    boards_by_id   = { path = "table/${aws_dynamodb_table.boards.name}/index/by_id", kind = "index", limits = var.provisioned_capacity.boards }
  }
  scaled = merge([
    for name, resource in local.scaled_resources : {
      "${name}_read"  = merge(resource, { use = "Read", min = resource.limits.read_min, max = resource.limits.read_max })
      "${name}_write" = merge(resource, { use = "Write", min = resource.limits.write_min, max = resource.limits.write_max })
    }
  ]...)
}

resource "aws_appautoscaling_target" "capacity" {
  for_each = local.scaled

  service_namespace  = "dynamodb"
  resource_id        = each.value.path
  scalable_dimension = "dynamodb:${each.value.kind}:${each.value.use}CapacityUnits"
  min_capacity       = each.value.min
  max_capacity       = each.value.max
  tags               = local.tags
}

resource "aws_appautoscaling_policy" "capacity" {
  for_each = local.scaled

  name               = "${var.name_prefix}-${replace(each.key, "_", "-")}"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.capacity[each.key].service_namespace
  resource_id        = aws_appautoscaling_target.capacity[each.key].resource_id
  scalable_dimension = aws_appautoscaling_target.capacity[each.key].scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value = 70

    predefined_metric_specification {
      predefined_metric_type = "DynamoDB${each.value.use}CapacityUtilization"
    }
  }
}
