# Only where capacity is provisioned: each table and index scales between its least and most, at 70% use.
locals {
  scaled_resources = local.on_demand ? {} : {
    scores         = { path = "table/${aws_dynamodb_table.scores.name}", of = "table", limits = var.provisioned_capacity.scores }
    scores_by_rank = { path = "table/${aws_dynamodb_table.scores.name}/index/by_rank", of = "index", limits = var.provisioned_capacity.scores }
    counters       = { path = "table/${aws_dynamodb_table.counters.name}", of = "table", limits = var.provisioned_capacity.counters }
    boards         = { path = "table/${aws_dynamodb_table.boards.name}", of = "table", limits = var.provisioned_capacity.boards }
    boards_by_id   = { path = "table/${aws_dynamodb_table.boards.name}/index/by_id", of = "index", limits = var.provisioned_capacity.boards }
  }
  scaled = merge([
    for name, one in local.scaled_resources : {
      "${name}_read"  = { path = one.path, of = one.of, kind = "Read", least = one.limits.read_min, most = one.limits.read_max }
      "${name}_write" = { path = one.path, of = one.of, kind = "Write", least = one.limits.write_min, most = one.limits.write_max }
    }
  ]...)
}

resource "aws_appautoscaling_target" "capacity" {
  for_each = local.scaled

  service_namespace  = "dynamodb"
  resource_id        = each.value.path
  scalable_dimension = "dynamodb:${each.value.of}:${each.value.kind}CapacityUnits"
  min_capacity       = each.value.least
  max_capacity       = each.value.most
  tags               = var.tags
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
      predefined_metric_type = "DynamoDB${each.value.kind}CapacityUtilization"
    }
  }
}
