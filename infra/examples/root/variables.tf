variable "region" {
  description = "The stack's region."
  type        = string
}

variable "name_prefix" {
  description = "The stack's name."
  type        = string
}

variable "package_dir" {
  description = "The folder that `make package` wrote; null is the module's checkout."
  type        = string
  default     = null
}

variable "own_key" {
  description = "Whether a KMS key of your own encrypts the stack."
  type        = bool
  default     = false
}

# As in the module.
variable "deletion_protection" {
  type    = bool
  default = true
}

variable "api_keys" {
  type    = map(number)
  default = { web = 365 }
}

variable "waf_rate_limit" {
  type    = number
  default = null
}

variable "reserved_concurrency" {
  type    = map(number)
  default = {}
}

variable "on_demand_ceilings" {
  type    = map(object({ read = number, write = number }))
  default = {}
}

variable "budget" {
  type    = object({ usd_a_month = number, emails = list(string) })
  default = null
}
