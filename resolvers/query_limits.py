"""Limits of one query, checked before anything is read.

A query that fits the schema is weighed: its depth, its aliases, and the most records that it may return, the
product of the page sizes along each path. A fragment is weighed once, however often it is spread, so nested
fragments that double their spreads cost nothing to refuse.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    get_nullable_type,
    get_operation_ast,
    is_list_type,
    is_object_type,
)
from graphql.execution.values import VariableValues, get_argument_values, get_variable_values
from strawberry.extensions import SchemaExtension

from core.domain.errors import InvalidInput
from resolvers.request.arguments import DEFAULT_BINS, DEFAULT_PAGE, DEFAULT_RADIUS, or_default

# As in infra/variables_api.tf for AppSync, which counts introspection too: the introspection query of
# GraphiQL and code generators is 15 fields deep.
MAX_DEPTH = 20
MAX_ALIASES = 50
MAX_RECORDS = 10_000
MAX_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class Weight:
    """The weight of a selection; `heaviest` is the path of pages that most records come from."""

    depth: int = 0
    aliases: int = 0
    records: int = 0
    heaviest: tuple[FieldNode, ...] = ()


class QueryLimits(SchemaExtension):
    """Refuses a query that is too deep, too wide or too large."""

    def on_execute(self) -> Iterator[None]:
        """Weigh the operation and refuse it before its first field is resolved."""
        context = self.execution_context
        schema: GraphQLSchema = context.schema._schema
        document = context.graphql_document
        # Strawberry would run the first of several operations; the specification requires a name.
        if document and context._provided_operation_name is None and _operations(document) > 1:
            _refuse("operationName: must name one of the operations")
        operation = get_operation_ast(document, context.operation_name) if document else None
        root = schema.get_root_type(operation.operation) if operation else None
        assert document and operation and root  # noqa: S101, PT018 - parsed and validated by now
        variables = get_variable_values(
            schema, operation.variable_definitions or (), context.variables or {}, max_errors=1
        )
        # Variables that do not fit the schema are refused by the execution.
        if isinstance(variables, VariableValues):
            fragments = {
                definition.name.value: definition
                for definition in document.definitions
                if isinstance(definition, FragmentDefinitionNode)
            }
            _check(_Scale(schema, fragments, variables).weigh(root, operation.selection_set))
        yield


def _operations(document: DocumentNode) -> int:
    return sum(isinstance(definition, OperationDefinitionNode) for definition in document.definitions)


def _check(weight: Weight) -> None:
    """Refuse a weight above the limits.

    Raises:
        GraphQLError: caused by InvalidInput, naming the limit and, for records, the path.
    """
    if weight.depth > MAX_DEPTH:
        _refuse(f"query: is {weight.depth} fields deep; at most {MAX_DEPTH}")
    if weight.aliases > MAX_ALIASES:
        _refuse(f"query: has {weight.aliases} aliases; at most {MAX_ALIASES}")
    if weight.records > MAX_RECORDS:
        path = ".".join(node.name.value for node in weight.heaviest)
        _refuse(
            f"{path}: the query may return {weight.records} records, of at most {MAX_RECORDS}; "
            "ask for smaller pages",
            weight.heaviest[-1],
        )


def _refuse(message: str, node: FieldNode | None = None) -> None:
    raise GraphQLError(message, node, original_error=InvalidInput(message))


class _Scale:
    """Weighs the selections of one operation, with its variables."""

    def __init__(
        self, schema: GraphQLSchema, fragments: dict[str, FragmentDefinitionNode], variables: VariableValues
    ) -> None:
        self._schema = schema
        self._fragments = fragments
        self._variables = variables
        self._fragment_weights: dict[str, Weight] = {}

    def weigh(self, parent: GraphQLObjectType, selections: SelectionSetNode) -> Weight:
        depth = aliases = records = most = 0
        heaviest: tuple[FieldNode, ...] = ()
        for selection in selections.selections:
            if isinstance(selection, FieldNode):
                weight = self._weigh_field(parent, selection)
            elif isinstance(selection, InlineFragmentNode):
                weight = self.weigh(parent, selection.selection_set)
            else:
                assert isinstance(selection, FragmentSpreadNode)  # noqa: S101 - there is no fourth kind
                weight = self._weigh_fragment(parent, selection.name.value)
            depth = max(depth, weight.depth)
            aliases += weight.aliases
            records += weight.records
            if weight.records > most:
                most, heaviest = weight.records, weight.heaviest
        return Weight(depth, aliases, records, heaviest)

    def _weigh_field(self, parent: GraphQLObjectType, node: FieldNode) -> Weight:
        field = self._schema.get_field(parent, node.name.value)
        assert field  # noqa: S101 - the query fits the schema
        inner = Weight()
        if node.selection_set:
            result = get_named_type(field.type)
            assert is_object_type(result)  # noqa: S101 - there are no interfaces or unions in this schema
            inner = self.weigh(result, node.selection_set)
        size = self._page_size(field, node)
        return Weight(
            depth=1 + inner.depth,
            aliases=inner.aliases + (1 if node.alias else 0),
            records=inner.records if size is None else size * (1 + inner.records),
            heaviest=(node, *inner.heaviest) if size or inner.heaviest else (),
        )

    def _weigh_fragment(self, parent: GraphQLObjectType, name: str) -> Weight:
        if name not in self._fragment_weights:
            self._fragment_weights[name] = self.weigh(parent, self._fragments[name].selection_set)
        return self._fragment_weights[name]

    def _page_size(self, field: GraphQLField, node: FieldNode) -> int | None:
        """Return how many records a field may return; None if it is no page."""
        arguments: dict[str, Any] = get_argument_values(field, node, self._variables)
        if "participantIds" in arguments:
            return len(arguments["participantIds"])
        if "radius" in field.args:
            radius: int = or_default(arguments["radius"], DEFAULT_RADIUS)
            return 2 * max(radius, 0) + 1
        if "bins" in field.args:
            bins: int = or_default(arguments["bins"], DEFAULT_BINS)
            return max(bins, 0)
        if "limit" in field.args and _is_page(field):
            limit: int = or_default(arguments["limit"], DEFAULT_PAGE)
            return max(limit, 0)
        return None


def _is_page(field: GraphQLField) -> bool:
    result = get_named_type(field.type)
    return is_list_type(get_nullable_type(field.type)) or (
        is_object_type(result) and "items" in result.fields
    )
