"""The assembled schema; `python -m resolvers.schema` prints it as `schema.graphql`."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from textwrap import fill

import strawberry
from graphql import (
    REMOVE,
    ConstDirectiveNode,
    DirectiveDefinitionNode,
    GraphQLError,
    GraphQLSyntaxError,
    NameNode,
    Node,
    ObjectTypeDefinitionNode,
    ScalarTypeDefinitionNode,
    StringValueNode,
    Visitor,
    VisitorAction,
    parse,
    print_ast,
    visit,
)
from strawberry.extensions import MaxTokensLimiter, ParserCache, ValidationCache
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from resolvers.consumption import Consumption
from resolvers.directives import EVERYONE
from resolvers.mutations import Mutation
from resolvers.queries import Query
from resolvers.query_limits import MAX_TOKENS, QueryLimits
from resolvers.request.errors import ErrorsOverSockets, log_unexpected
from resolvers.request.plain_fields import PlainFields
from resolvers.request.scalars import SCALARS
from resolvers.subscriptions import Subscription, SubscriptionsBySocket

_CACHED_QUERIES = 64  # of up to a megabyte each
_WIDTH = 100  # of descriptions in schema.graphql


class _QueryCache(ParserCache):
    """Strawberry's cache of parsed queries; a query with a syntax error is left to Strawberry to refuse."""

    def on_parse(self) -> Iterator[None]:
        """Take the query from the cache."""
        context = self.execution_context
        with suppress(GraphQLSyntaxError):
            context.graphql_document = self.cached_parse_document(context.query, **context.parse_options)
        yield


class LeaderboardSchema(strawberry.Schema):
    """Strawberry's schema, which logs unexpected errors only."""

    def process_errors(
        self,
        errors: list[GraphQLError],
        execution_context: ExecutionContext | None = None,  # noqa: ARG002 - Strawberry's signature
    ) -> None:
        """Log unexpected errors."""
        log_unexpected(errors)


schema = LeaderboardSchema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=StrawberryConfig(scalar_map=SCALARS),
    execution_context_class=PlainFields,
    extensions=[
        Consumption,
        lambda: MaxTokensLimiter(MAX_TOKENS),
        # Clients and the publisher send the same few queries; parsing one costs more than running it.
        lambda: _QueryCache(maxsize=_CACHED_QUERIES),
        lambda: ValidationCache(maxsize=_CACHED_QUERIES),
        QueryLimits,
        SubscriptionsBySocket,
        ErrorsOverSockets,
    ],
)


class _ForAppSync(Visitor):
    """Removes the definitions that AppSync has itself, adds its directives to types, and wraps descriptions.

    AppSync allows what has no such directive for its default mode alone, and a field only if its type is
    allowed too. So types are allowed for every mode, but for Mutation, whose fields name further modes.
    """

    def enter(self, node: Node, *_: object) -> Node | VisitorAction:
        """Remove the definition of a directive or scalar; change an object type or a description."""
        if isinstance(node, DirectiveDefinitionNode | ScalarTypeDefinitionNode):
            return REMOVE
        if isinstance(node, ObjectTypeDefinitionNode):
            modes = EVERYONE[:1] if node.name.value == "Mutation" else EVERYONE
            directives = tuple(ConstDirectiveNode(name=NameNode(value=mode)) for mode in modes)
            return replace(node, directives=directives)
        if isinstance(node, StringValueNode) and node.block:
            return replace(node, value=fill(node.value, _WIDTH, break_on_hyphens=False))
        return None


def sdl() -> str:
    """Return the schema with its descriptions; Terraform removes these for AppSync."""
    return print_ast(visit(parse(schema.as_str()), _ForAppSync())) + "\n"


if __name__ == "__main__":
    print(sdl(), end="")  # noqa: T201 - printing it is the job
