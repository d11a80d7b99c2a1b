"""GraphQL's execution without its ceremony for plain fields: attributes of objects that are there already.

graphql-core makes much of a field: its path, its info, its resolver, and whether any result is awaitable. A
page of entries with their ranks has thousands of fields, nearly all of them plain. So what is selected of an
object is turned into one function, once a request, if all of it is plain.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLObjectType,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
)
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

READS = "reads"  # extension of a field that is no attribute: the function that reads it from its object
_DEFINITION = "strawberry-definition"

Write = Callable[[Any], Any]  # a value as the response has it


class PlainFields(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor; graphql-core is left what is not plain, and what fails, for its error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # By type and the list of its nodes; the list is kept, so that no other can get its id.
        self._writes: dict[tuple[object, int], tuple[object, Write | None]] = {}

    def execute_field(
        self,
        parent_type: GraphQLObjectType,
        source: Any,
        field_details_list: Any,
        path: Any,
        position_context: Any,
    ) -> Any:
        """Return a field's value, or an awaitable of it."""
        write = self._kept(self._field, parent_type, field_details_list)
        if write is not None:
            try:
                return write(source)
            except Exception:  # noqa: S110 - fails again below
                pass
        return super().execute_field(parent_type, source, field_details_list, path, position_context)

    def complete_object_value(
        self,
        return_type: GraphQLObjectType,
        field_details_list: Any,
        info: Any,
        path: Any,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Return what is selected of an object, or an awaitable of it."""
        write = self._kept(self._object, return_type, field_details_list)
        if write is not None:
            try:
                return write(result)
            except Exception:  # noqa: S110 - fails again below
                pass
        return super().complete_object_value(
            return_type, field_details_list, info, path, result, position_context
        )

    def _kept(self, make: Callable[[Any, Any], Write | None], of_type: Any, details: Any) -> Write | None:
        key = (of_type, id(details))
        kept = self._writes.get(key)
        if kept is None:
            kept = self._writes[key] = (details, make(of_type, details))
        return kept[1]

    def _field(self, parent_type: GraphQLObjectType, details: Any) -> Write | None:
        """Return what writes a field of an object; None if it is not plain."""
        name = details[0].node.name.value
        if name == "__typename":
            return lambda _: parent_type.name
        field = self.schema.get_field(parent_type, name)
        read = _reader(field) if field else None
        write = self._value(field.type, details) if field and read else None
        if read is None or write is None:
            return None
        return lambda source: write(read(source))

    def _object(self, of_type: GraphQLObjectType, details: Any) -> Write | None:
        """Return what writes the selection of an object; None if any of it is not plain."""
        if of_type.is_type_of:
            return None
        selected = self.collect_subfields(of_type, details)
        if selected.new_defer_usages:
            return None
        writes = [
            (name, self._field(of_type, of_field)) for name, of_field in selected.grouped_field_set.items()
        ]
        if not all(write for _, write in writes):
            return None
        return lambda source: {name: write(source) for name, write in writes}  # type: ignore[misc]

    def _value(self, of_type: Any, details: Any) -> Write | None:
        """Return what writes a value of a type; None if it is not plain."""
        if is_non_null_type(of_type):
            return _required(self._nullable(of_type.of_type, details))
        return _optional(self._nullable(of_type, details))

    def _nullable(self, of_type: Any, details: Any) -> Write | None:
        if is_leaf_type(of_type):
            return of_type.coerce_output_value
        if is_object_type(of_type):
            return self._object(of_type, details)
        if is_list_type(of_type):
            write = self._value(of_type.of_type, details)
            return None if write is None else lambda values: [write(value) for value in values]
        return None


def _reader(field: GraphQLField) -> Write | None:
    if READS in field.extensions:
        read: Write = field.extensions[READS]
        return read
    definition = field.extensions.get(_DEFINITION)
    return attrgetter(definition.python_name) if definition and definition.is_basic_field else None


def _optional(write: Write | None) -> Write | None:
    return None if write is None else lambda value: None if value is None else write(value)


def _required(write: Write | None) -> Write | None:
    if write is None:
        return None

    def required(value: Any) -> Any:
        if value is None:
            raise ValueError("a value is missing")
        return write(value)

    return required
