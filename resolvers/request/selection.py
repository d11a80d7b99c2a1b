"""What a query selects from the field that is being resolved."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from graphql import FieldNode, FragmentSpreadNode, InlineFragmentNode, OperationType
from strawberry.types.nodes import convert_directives
from strawberry.utils.str_converters import to_camel_case

from resolvers.request.context import Info

T = TypeVar("T")


def is_selected(info: Info, name: str) -> bool:
    """Return whether a subfield of the present field is selected, in fragments too."""
    return any(node.name.value == name for node in _selected(info))


def in_query(info: Info) -> bool:
    """Return whether the request is a query: nothing changes between its fields."""
    return info._raw_info.operation.operation is OperationType.QUERY


def as_selected(info: Info, value: T) -> T:
    """Return a copy of a value with null in each field that is not selected under its own name.

    AppSync delivers no more than that of a mutation's result to subscribers.
    """
    instance: Any = value
    names = {node.name.value for node in _selected(info) if node.alias is None}
    unselected = [field.name for field in fields(instance) if to_camel_case(field.name) not in names]
    selected: T = replace(instance, **dict.fromkeys(unselected))
    return selected


def _selected(info: Info) -> Iterator[FieldNode]:
    """Yield the selected fields. Each fragment is visited once, however often it is spread."""
    query = info._raw_info
    pending = [node.selection_set for node in query.field_nodes]
    visited = set()
    while pending:
        selections = pending.pop()
        for node in selections.selections if selections else ():
            directives = convert_directives(query, node.directives)
            if directives.get("skip", {}).get("if") or not directives.get("include", {}).get("if", True):
                continue
            if isinstance(node, FieldNode):
                yield node
            elif isinstance(node, InlineFragmentNode):
                pending.append(node.selection_set)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in visited:
                visited.add(node.name.value)
                pending.append(query.fragments[node.name.value].selection_set)
