region              = "eu-west-1"
name_prefix         = "race-staging"
deletion_protection = false
api_keys            = { web = 30 }
on_demand_ceilings = {
  scores   = { read = 500, write = 500 }
  counters = { read = 500, write = 500 }
}
budget = { usd_a_month = 20, emails = ["ops@example.com"] }
