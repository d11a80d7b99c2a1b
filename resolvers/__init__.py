"""GraphQL over the core: types, resolvers, and the ways in."""
