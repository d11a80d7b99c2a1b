"""GraphQL's execution without its ceremony for plain fields: attributes of objects that are there already.

graphql-core makes much of a field: its path, its info, its resolver, and whether any result is awaitable. A
page of entries with their ranks has thousands of fields, nearly all of them plain. So what is selected of an
object is turned into one function, once a request, if all of it is plain. A field that is `prefetched_by` a
function is plain once it has been fetched for all objects of a list.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, cast

from graphql import (
    Executor,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    OperationType,
    get_argument_values,
    get_named_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
)
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

READS = "reads"  # in the extensions of a field that is no attribute: a function of the object
_DEFINITION = "strawberry-definition"

Write = Callable[[Any], Any]  # returns a value as the response has it
Resolver = TypeVar("Resolver", bound=Callable[..., Any])
Details = Any  # graphql-core's list of a field's nodes


class Asked(NamedTuple):
    """How a field is asked for; `in_query` is whether nothing changes within the request."""

    context: Any
    arguments: Mapping[str, Any]
    selected: frozenset[str]  # subfields
    in_query: bool


# Returns the values of a field for some objects, or the exceptions that they fail with.
Prefetch = Callable[[Sequence[Any], Asked], Awaitable[Sequence[Any]]]


def prefetched_by(prefetch: Prefetch) -> Callable[[Resolver], Resolver]:
    """Mark a resolver of a Strawberry field; it still serves where other fields are not plain."""

    def mark(resolver: Resolver) -> Resolver:
        resolver.prefetch = prefetch  # type: ignore[attr-defined]
        return resolver

    return mark


class _Selection(NamedTuple):
    """What is selected of an object: how it is written if all of it is plain, and what is fetched before."""

    write: Write | None = None
    ahead: Sequence[tuple[Details, Prefetch, Asked]] = ()


class PlainFields(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor; graphql-core is left what is not plain, and what fails, for its error.

    Extensions that hook each field's `resolve` would not see plain ones.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._forget()

    def build_per_event_executor(self, payload: object) -> Executor[Any]:
        """Return the executor of a subscription's event; none of what it keeps outlives the event."""
        executor: Any = super().build_per_event_executor(payload)
        executor._forget()
        return cast("PlainFields", executor)

    def _forget(self) -> None:
        self._relevant_sub_fields = {}  # graphql-core's own, which it keeps until the subscription ends
        # By type and list of nodes. Lists and objects are kept, so that no other can get their ids.
        self._selections: dict[tuple[object, int], tuple[Details, _Selection]] = {}
        self._fields: dict[tuple[object, int], tuple[Details, Write | None]] = {}
        self._fetched: dict[tuple[int, int], tuple[object, Any]] = {}  # by list of nodes and object

    def execute_field(
        self,
        parent_type: GraphQLObjectType,
        source: Any,
        field_details_list: Details,
        path: Any,
        position_context: Any,
    ) -> Any:
        """Return a field's value, or an awaitable of it."""
        _, fetched = self._fetched.get((id(field_details_list), id(source)), (None, None))
        if isinstance(fetched, Exception):
            field = parent_type.fields[field_details_list[0].node.name.value]
            self.handle_field_error(fetched, field.type, field_details_list, path)
            return None
        key = parent_type, id(field_details_list)
        if key not in self._fields:
            self._fields[key] = field_details_list, self._field(parent_type, field_details_list)
        write = self._fields[key][1]
        if write is not None:
            with suppress(Exception):  # fails again below
                return write(source)
        return super().execute_field(parent_type, source, field_details_list, path, position_context)

    def complete_object_value(
        self,
        return_type: GraphQLObjectType,
        field_details_list: Details,
        info: Any,
        path: Any,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Return what is selected of an object, or an awaitable of it."""
        selection = self._selection(return_type, field_details_list)
        complete = partial(
            super().complete_object_value,
            return_type,
            field_details_list,
            info,
            path,
            result,
            position_context,
        )
        if any((id(details), id(result)) not in self._fetched for details, _, _ in selection.ahead):
            return self._fetch(selection, [result], complete)
        if selection.write is not None:
            with suppress(Exception):  # fails again below
                return selection.write(result)
        return complete()

    def complete_list_value(
        self,
        return_type: Any,
        field_details_list: Details,
        info: Any,
        path: Any,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Return the values of a list, or an awaitable of them."""
        complete = partial(
            super().complete_list_value, return_type, field_details_list, info, path, result, position_context
        )
        item_type = get_named_type(return_type)
        if is_object_type(item_type) and isinstance(result, list):
            selection = self._selection(item_type, field_details_list)
            if selection.ahead:
                return self._fetch(selection, result, complete)
        return complete()

    async def _fetch(self, selection: _Selection, objects: Sequence[Any], complete: Callable[[], Any]) -> Any:
        """Fetch what is selected of some objects, then complete them."""
        there = [each for each in objects if each is not None and not isinstance(each, Exception)]
        fetched = await asyncio.gather(*(prefetch(there, asked) for _, prefetch, asked in selection.ahead))
        for (details, _, _), values in zip(selection.ahead, fetched, strict=True):
            for each, value in zip(there, values, strict=True):
                self._fetched[id(details), id(each)] = each, value
        completed = complete()
        return await completed if isawaitable(completed) else completed

    def _selection(self, of_type: GraphQLObjectType, details: Details) -> _Selection:
        key = of_type, id(details)
        if key not in self._selections:
            self._selections[key] = details, self._make_selection(of_type, details)
        return self._selections[key][1]

    def _make_selection(self, of_type: GraphQLObjectType, details: Details) -> _Selection:
        selected = self.collect_subfields(of_type, details)
        if of_type.is_type_of or selected.new_defer_usages:
            return _Selection()
        writes: dict[str, Write] = {}
        ahead: list[tuple[Details, Prefetch, Asked]] = []
        for name, of_field in selected.grouped_field_set.items():
            write = self._field(of_type, of_field)
            if write is None:
                return _Selection()
            writes[name] = write
            field = of_type.fields.get(of_field[0].node.name.value)
            prefetch = field and _prefetch(field)
            if field and prefetch:
                try:
                    ahead.append((of_field, prefetch, self._asked(field, of_field)))
                except GraphQLError:  # an argument's, which is the field's own
                    return _Selection()
        return _Selection(lambda source: {name: write(source) for name, write in writes.items()}, ahead)

    def _asked(self, field: GraphQLField, details: Details) -> Asked:
        of_type: Any = get_named_type(field.type)
        selected = self.collect_subfields(of_type, details).grouped_field_set
        return Asked(
            self.context_value,
            get_argument_values(field, details[0].node, self.variable_values),
            frozenset(of_field[0].node.name.value for of_field in selected.values()),
            self.operation.operation is OperationType.QUERY,
        )

    def _field(self, parent_type: GraphQLObjectType, details: Details) -> Write | None:
        """Return what writes a field of an object; None if it is not plain."""
        name = details[0].node.name.value
        if name == "__typename":
            return lambda _: parent_type.name
        field = parent_type.fields.get(name)
        read = field and (self._fetched_value(details) if _prefetch(field) else _reader(field))
        write = self._value(field.type, details) if field and read else None
        if read is None or write is None:
            return None
        return lambda source: write(read(source))

    def _fetched_value(self, details: Details) -> Write:
        def read(source: Any) -> Any:
            _, value = self._fetched[id(details), id(source)]
            if isinstance(value, Exception):
                raise value
            return value

        return read

    def _value(self, of_type: Any, details: Details) -> Write | None:
        """Return what writes a value of a type; None if it is not plain."""
        required = is_non_null_type(of_type)
        nullable = of_type.of_type if required else of_type
        write: Write | None = None
        if is_leaf_type(nullable):
            write = nullable.coerce_output_value
        elif is_object_type(nullable):
            selection = self._selection(nullable, details)
            write = None if selection.ahead else selection.write
        elif is_list_type(nullable):
            item = self._value(nullable.of_type, details)
            write = item and (lambda values: [item(value) for value in values])
        return write and (_required(write) if required else _optional(write))


def _prefetch(field: GraphQLField) -> Prefetch | None:
    definition = field.extensions.get(_DEFINITION)
    resolver = definition and definition.base_resolver
    return getattr(resolver.wrapped_func, "prefetch", None) if resolver else None


def _reader(field: GraphQLField) -> Write | None:
    if READS in field.extensions:
        read: Write = field.extensions[READS]
        return read
    definition = field.extensions.get(_DEFINITION)
    return attrgetter(definition.python_name) if definition and definition.is_basic_field else None


def _optional(write: Write) -> Write:
    return lambda value: None if value is None else write(value)


def _required(write: Write) -> Write:
    def required(value: Any) -> Any:
        if value is None:
            raise ValueError("a value is missing")
        return write(value)

    return required
