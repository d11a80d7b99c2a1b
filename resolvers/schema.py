"""The schema, assembled; `python -m resolvers.schema` prints it as AppSync takes it."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import strawberry
from graphql import (
    REMOVE,
    ConstDirectiveNode,
    DirectiveDefinitionNode,
    Executor,
    GraphQLError,
    GraphQLSyntaxError,
    NameNode,
    Node,
    ObjectTypeDefinitionNode,
    ScalarTypeDefinitionNode,
    Visitor,
    VisitorAction,
    parse,
    print_ast,
    visit,
)
from strawberry.extensions import MaxTokensLimiter, ParserCache, ValidationCache
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types import ExecutionContext

from resolvers.consumption import Consumption
from resolvers.directives import EVERYONE
from resolvers.mutations import Mutation
from resolvers.queries import Query
from resolvers.query_limits import MAX_TOKENS, QueryLimits
from resolvers.request.errors import ErrorsOverSockets, log_unforeseen
from resolvers.request.scalars import SCALARS
from resolvers.subscriptions import Subscription, SubscriptionsBySocket

_REMEMBERED = 64  # queries, of up to a megabyte each


class _Execution(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor; a subscription's forgets an event once it is told.

    graphql-core 3.3 remembers what it collected of each event for as long as the subscription lives.
    """

    def build_per_event_executor(self, payload: object) -> Executor[Any]:
        """Give the executor of one event."""
        executor = super().build_per_event_executor(payload)
        executor._relevant_sub_fields = {}
        return executor


class _QueryCache(ParserCache):
    """Strawberry's cache of parsed queries, which leaves it to Strawberry to refuse what cannot be parsed."""

    def on_parse(self) -> Iterator[None]:
        """Take the query from the cache."""
        context = self.execution_context
        with suppress(GraphQLSyntaxError):
            context.graphql_document = self.cached_parse_document(context.query, **context.parse_options)
        yield


class LeaderboardSchema(strawberry.Schema):
    """Strawberry's schema, with our choice of what is worth a line in the log."""

    def process_errors(
        self,
        errors: list[GraphQLError],
        execution_context: ExecutionContext | None = None,  # noqa: ARG002 - Strawberry's signature
    ) -> None:
        """Log what no one foresaw."""
        log_unforeseen(errors)


schema = LeaderboardSchema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    config=StrawberryConfig(scalar_map=SCALARS),
    execution_context_class=_Execution,
    extensions=[
        Consumption,
        lambda: MaxTokensLimiter(MAX_TOKENS),
        # Clients and the publisher send the same few queries; reading one costs more than running it.
        lambda: _QueryCache(maxsize=_REMEMBERED),
        lambda: ValidationCache(maxsize=_REMEMBERED),
        QueryLimits,
        SubscriptionsBySocket,
        ErrorsOverSockets,
    ],
)


class _ForAppSync(Visitor):
    """Leaves out what AppSync refuses or declares itself: directive and scalar definitions, descriptions.

    AppSync opens what is not marked to its default mode alone, and a field only with the type that it gives.
    So all types are marked for everyone, but Mutation: its fields say whom else they are for, if anyone.
    """

    def enter(self, node: Node, *_: object) -> Node | VisitorAction:
        """Remove a definition or a description, and mark a type."""
        if isinstance(node, DirectiveDefinitionNode | ScalarTypeDefinitionNode):
            return REMOVE
        if isinstance(node, ObjectTypeDefinitionNode):
            modes = EVERYONE[:1] if node.name.value == "Mutation" else EVERYONE
            marks = tuple(ConstDirectiveNode(name=NameNode(value=mode)) for mode in modes)
            return replace(node, description=None, directives=marks)
        if getattr(node, "description", None) is not None:
            return replace(node, description=None)  # type: ignore[call-arg]
        return None


def sdl() -> str:
    """Write the schema in the form that AppSync takes."""
    return print_ast(visit(parse(schema.as_str()), _ForAppSync())) + "\n"


if __name__ == "__main__":
    print(sdl(), end="")  # noqa: T201 - printing it is the job
