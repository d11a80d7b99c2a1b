"""What a query selects of a field that is being resolved."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from graphql import FieldNode, FragmentSpreadNode, InlineFragmentNode
from strawberry.types.nodes import convert_directives
from strawberry.utils.str_converters import to_camel_case

from resolvers.request.context import Info

T = TypeVar("T")


def is_selected(info: Info, name: str) -> bool:
    """Say whether a field of the object that is being resolved is selected, in fragments too."""
    return any(node.name.value == name for node in _selected(info))


def as_selected(info: Info, value: T) -> T:
    """Give a value with only those fields that the query selects under their own names; the others are null.

    That is all that AppSync hands on of a mutation's result to subscribers.
    """
    known: Any = value
    names = {node.name.value for node in _selected(info) if node.alias is None}
    left_out = [field.name for field in fields(known) if to_camel_case(field.name) not in names]
    selected: T = replace(known, **dict.fromkeys(left_out))
    return selected


def _selected(info: Info) -> Iterator[FieldNode]:
    """Give the selected fields. Each fragment is looked into once, however often it is spread."""
    query = info._raw_info
    waiting = [node.selection_set for node in query.field_nodes]
    seen = set()
    while waiting:
        selections = waiting.pop()
        for node in selections.selections if selections else ():
            directives = convert_directives(query, node.directives)
            if directives.get("skip", {}).get("if") or not directives.get("include", {}).get("if", True):
                continue
            if isinstance(node, FieldNode):
                yield node
            elif isinstance(node, InlineFragmentNode):
                waiting.append(node.selection_set)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                waiting.append(query.fragments[node.name.value].selection_set)
