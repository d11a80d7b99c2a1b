variable "name_prefix" {
  description = "The stack's name, with which every resource's name starts: an account may have several stacks."
  type        = string
  default     = "leaderboard"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name_prefix))
    error_message = "name_prefix: 3 to 32 lower-case letters, digits and hyphens, a letter first and no hyphen last."
  }
}

variable "tags" {
  description = "Tags for every resource that takes them."
  type        = map(string)
  default     = {}
}

variable "package_dir" {
  description = "The folder that `make package` wrote; by default build/package of the same checkout."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether DynamoDB refuses to delete the tables, to Terraform too."
  type        = bool
  default     = true
}

variable "point_in_time_recovery" {
  description = "Whether the tables can be restored to any second of the last 35 days."
  type        = bool
  default     = true
}

variable "kms_key_arn" {
  description = "Your KMS key for tables, logs, queues, the schedule and the functions' environments; null is AWS's own keys. examples/root/key.tf has the key policy that CloudWatch Logs needs."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null || can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$", var.kms_key_arn))
    error_message = "kms_key_arn: the ARN of a KMS key."
  }
}

variable "provisioned_capacity" {
  description = "Read and write units a second between which scores, counters, boards and their indexes scale; null is on demand. Choose when you create the stack: docs/operations.md has the step that an existing one needs first."
  type = map(object({
    read_min  = number
    read_max  = number
    write_min = number
    write_max = number
  }))
  default = null

  validation {
    condition = var.provisioned_capacity == null ? true : (
      toset(keys(var.provisioned_capacity)) == toset(["scores", "counters", "boards"]) &&
      alltrue([for units in values(var.provisioned_capacity) : units.read_min >= 1 && units.write_min >= 1 && units.read_max >= units.read_min && units.write_max >= units.write_min])
    )
    error_message = "provisioned_capacity: for scores, counters and boards each, every minimum at least 1 and no greater than its maximum."
  }
}

variable "retention" {
  description = "What new boards get: hours after a period's end in which late scores still count, days after its end that its entries stay, and days that submission ids are remembered. Existing boards keep theirs."
  type = object({
    grace_hours        = optional(number, 24)
    daily_days         = optional(number, 35)
    weekly_days        = optional(number, 365)
    monthly_days       = optional(number, 1095)
    submission_id_days = optional(number, 7)
  })
  default = {}

  validation {
    condition = (
      alltrue([for value in values(var.retention) : value == floor(value) && value >= 0 && value <= 36500]) &&
      min(var.retention.daily_days, var.retention.weekly_days, var.retention.monthly_days) * 24 > var.retention.grace_hours &&
      var.retention.submission_id_days >= 1
    )
    error_message = "retention: whole numbers up to 36500; entries must stay longer than grace_hours, and submission_id_days be at least 1."
  }
}

variable "on_demand_ceilings" {
  description = "By table (scores, counters, boards, records, receipts), the most read and write units a second on demand, for it and its indexes; beyond them DynamoDB throttles. -1 lifts a ceiling. An index's is set when the stack is created, later by hand: docs/operations.md."
  type = map(object({
    read  = number
    write = number
  }))
  default = {}

  validation {
    condition = alltrue([
      for table, units in var.on_demand_ceilings :
      contains(["scores", "counters", "boards", "records", "receipts"], table) && alltrue([for most in [units.read, units.write] : most == -1 || most >= 1])
    ])
    error_message = "on_demand_ceilings: for scores, counters, boards, records or receipts, each at least 1, or -1."
  }
  validation {
    condition     = var.provisioned_capacity == null || length(setintersection(keys(var.on_demand_ceilings), ["scores", "counters", "boards"])) == 0
    error_message = "on_demand_ceilings: not for tables with provisioned_capacity."
  }
}

variable "permissions_boundary" {
  description = "The ARN of a policy that bounds every role of the stack; null is none."
  type        = string
  default     = null
}
