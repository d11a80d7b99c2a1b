resource "aws_wafv2_web_acl" "api" {
  count = var.waf_rate_limit == null ? 0 : 1

  name        = "${var.name_prefix}-api"
  description = "Blocks an address that sends too many requests."
  scope       = "REGIONAL"
  tags        = local.tags

  default_action {
    allow {}
  }

  rule {
    name     = "rate"
    priority = 1

    action {
      block {}
    }

    statement {
      rate_based_statement {
        limit              = var.waf_rate_limit
        aggregate_key_type = "IP"

        # Signed requests alone do not count: rank changes are published from few addresses, and AppSync refuses a
        # wrong signature. A key always counts, or a made-up signature beside it would evade the limit.
        scope_down_statement {
          or_statement {
            statement {
              size_constraint_statement {
                comparison_operator = "GE"
                size                = 0

                field_to_match {
                  single_header {
                    name = "x-api-key"
                  }
                }
                text_transformation {
                  priority = 0
                  type     = "NONE"
                }
              }
            }
            statement {
              not_statement {
                statement {
                  byte_match_statement {
                    positional_constraint = "STARTS_WITH"
                    search_string         = "AWS4-HMAC-SHA256 "

                    field_to_match {
                      single_header {
                        name = "authorization"
                      }
                    }
                    text_transformation {
                      priority = 0
                      type     = "NONE"
                    }
                  }
                }
              }
            }
          }
        }
      }
    }

    visibility_config {
      cloudwatch_metrics_enabled = true
      metric_name                = "${var.name_prefix}-rate"
      sampled_requests_enabled   = true
    }
  }

  visibility_config {
    cloudwatch_metrics_enabled = true
    metric_name                = "${var.name_prefix}-api"
    sampled_requests_enabled   = true
  }
}

resource "aws_wafv2_web_acl_association" "api" {
  count = var.waf_rate_limit == null ? 0 : 1

  resource_arn = aws_appsync_graphql_api.api.arn
  web_acl_arn  = aws_wafv2_web_acl.api[0].arn
}
