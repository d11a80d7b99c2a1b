"""The GraphQL types of the public API, by subject."""

from resolvers.types import enums as enums  # registers the core's enums before any type refers to them
