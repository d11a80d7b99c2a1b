"""What a query selects of a field that is being resolved."""

from graphql import FieldNode, FragmentSpreadNode, InlineFragmentNode
from strawberry.types.nodes import convert_directives

from resolvers.context import Info


def is_selected(info: Info, name: str) -> bool:
    """Say whether a field of the object that is being resolved is selected, in fragments too.

    Each fragment is looked into once, however often it is spread.
    """
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
                if node.name.value == name:
                    return True
            elif isinstance(node, InlineFragmentNode):
                waiting.append(node.selection_set)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                waiting.append(query.fragments[node.name.value].selection_set)
    return False
