variable "architecture" {
  description = "The functions' processor."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture: arm64 or x86_64."
  }
}

variable "runtime" {
  description = "The functions' Python, such as python3.13. Null is the Python that packaged them, whose bytecode the zips hold: with another one every cold start compiles."
  type        = string
  default     = null

  validation {
    condition     = var.runtime == null || can(regex("^python3\\.1[1-9]$", var.runtime))
    error_message = "runtime: python3.11 or newer."
  }
}

variable "snap_start" {
  description = "Which of api and http start from a snapshot, which Lambda charges for. Needs Python 3.12 or newer."
  type        = set(string)
  default     = []

  validation {
    condition     = length(setsubtract(var.snap_start, ["api", "http"])) == 0
    error_message = "snap_start: api and http."
  }
}

variable "provisioned_concurrency" {
  description = "How many instances of api and http are always warm, which Lambda charges for. Not with snap_start."
  type        = map(number)
  default     = {}

  validation {
    condition     = alltrue([for name, instances in var.provisioned_concurrency : contains(["api", "http"], name) && instances >= 1])
    error_message = "provisioned_concurrency: for api and http, at least 1."
  }
  validation {
    condition     = length(setintersection(var.snap_start, keys(var.provisioned_concurrency))) == 0
    error_message = "provisioned_concurrency: not for functions with snap_start."
  }
}

variable "memory_size" {
  description = "MB of memory by function (api, http, stream, bookkeeper, notify, maintenance); CPU comes with it. Those left out get 1024."
  type        = map(number)
  default     = {}

  validation {
    condition = alltrue([
      for name, size in var.memory_size :
      contains(["api", "http", "stream", "bookkeeper", "notify", "maintenance"], name) && size >= 256 && size <= 10240
    ])
    error_message = "memory_size: for api, http, stream, bookkeeper, notify or maintenance, from 256 to 10240."
  }
}

variable "reserved_concurrency" {
  description = "Invocations at once that a function (api, http, stream, bookkeeper, notify, maintenance) keeps for itself and may not exceed. Those left out share the account's."
  type        = map(number)
  default     = {}

  validation {
    condition = alltrue([
      for name, most in var.reserved_concurrency :
      contains(["api", "http", "stream", "bookkeeper", "notify", "maintenance"], name) && most >= 0
    ])
    error_message = "reserved_concurrency: for api, http, stream, bookkeeper, notify or maintenance, at least 0."
  }
}

variable "stream" {
  description = "How the scores' changes are handed to the counters: records a batch, seconds to wait for a batch to fill, and how often a failing batch is tried."
  type = object({
    batch_size     = optional(number, 1000)
    batch_window   = optional(number, 1)
    retry_attempts = optional(number, 100)
  })
  default = {}

  validation {
    condition     = var.stream.batch_size >= 1 && var.stream.batch_size <= 10000 && var.stream.batch_window >= 0 && var.stream.batch_window <= 300 && var.stream.retry_attempts >= 1 && var.stream.retry_attempts <= 10000
    error_message = "stream: batch_size from 1 to 10000, batch_window from 0 to 300 seconds, retry_attempts from 1 to 10000."
  }
}

variable "log_retention_days" {
  description = "How long logs are kept."
  type        = number
  default     = 30

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days: one of CloudWatch's, such as 7, 14, 30, 90, 365."
  }
}

variable "dynamodb_client" {
  description = "How the functions make requests to DynamoDB: lean, for a third of boto3's CPU, or boto3."
  type        = string
  default     = "lean"

  validation {
    condition     = contains(["lean", "boto3"], var.dynamodb_client)
    error_message = "dynamodb_client: lean or boto3."
  }
}

variable "tracing" {
  description = "Whether X-Ray traces the API and the functions."
  type        = bool
  default     = false
}

variable "bookkeeper_max_concurrency" {
  description = "The most invocations of bookkeeper at once. Each counts up to ten hot boards, one of them some 4,000 changes a second."
  type        = number
  default     = 50

  validation {
    condition     = var.bookkeeper_max_concurrency >= 2 && var.bookkeeper_max_concurrency <= 1000
    error_message = "bookkeeper_max_concurrency: from 2 to 1000."
  }
  validation {
    condition     = lookup(var.reserved_concurrency, "bookkeeper", var.bookkeeper_max_concurrency) >= var.bookkeeper_max_concurrency
    error_message = "bookkeeper_max_concurrency: at most what reserved_concurrency.bookkeeper is, or messages come back unread."
  }
}

variable "notify_max_concurrency" {
  description = "The most invocations of notify at once. One publishes up to some 500 events a second; AppSync's default quota is 2,000 request tokens a second."
  type        = number
  default     = 5

  validation {
    condition     = var.notify_max_concurrency >= 2 && var.notify_max_concurrency <= 1000
    error_message = "notify_max_concurrency: from 2 to 1000."
  }
  validation {
    condition     = lookup(var.reserved_concurrency, "notify", var.notify_max_concurrency) >= var.notify_max_concurrency
    error_message = "notify_max_concurrency: at most what reserved_concurrency.notify is, or messages come back unread."
  }
}
