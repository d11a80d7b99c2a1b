"""What resolvers work with: caller, arguments, scalars, errors, ranks, and the hub of subscriptions."""
