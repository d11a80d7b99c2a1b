"""The GraphQL types of the public contract, by subject."""
