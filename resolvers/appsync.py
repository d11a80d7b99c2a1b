"""Calls of AppSync's resolvers, answered by the same types and resolvers as HTTP requests.

AppSync executes the query itself. For each field of `appsync_fields.json` it calls with the field's arguments
and, for a nested field, with its source: what the parent's call returned. Each call runs as a query of that
one field, rooted in the parent, which selects every subfield that has no resolver of its own. So arguments,
inputs, scalars and errors are Strawberry's here too. A subscription's call only checks that it may begin;
the publish mutations need no call.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import strawberry
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLField,
    GraphQLList,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLString,
    execute,
    get_named_type,
    is_leaf_type,
    is_object_type,
    parse,
)
from strawberry.schema.config import StrawberryConfig

from core.boards import Boards
from core.domain.errors import InvalidInput, LeaderboardNotFound
from core.storage.database import Database, metered
from resolvers.appsync_source import SOURCE_FIELD, Sources, pack_entry, write_json
from resolvers.consumption import budget_of
from resolvers.mutations import Mutation
from resolvers.queries import Query
from resolvers.request.auth import Caller, Role
from resolvers.request.context import Context
from resolvers.request.errors import describe, describe_exception, log_unexpected
from resolvers.request.plain_fields import READS, PlainFields
from resolvers.request.scalars import AWSJSON, SCALARS
from resolvers.subscriptions import admit

# By type and field, how many calls AppSync may batch; 0: none. Terraform reads it too.
FIELDS: Mapping[str, Mapping[str, int]] = json.loads(
    (Path(__file__).parent / "appsync_fields.json").read_text(encoding="utf-8")
)

# By field, the subfield that costs extra reads if selected.
_COSTLY = {("Entry", "rank"): "position", ("Query", "participant"): "displayName"}

_ROOTS = frozenset({"Query", "Mutation"})
_PARENTS = "parents"  # the field of the sources' objects

Call = Mapping[str, Any]
# {data}, or {data: None, errorType, errorMessage}; a subscription's may have {filter}
Envelope = dict[str, Any]


async def answer(db: Database, boards: Boards, calls: Sequence[Call]) -> list[Envelope]:
    """Return the envelopes of some calls, in their order.

    The calls of a batch run concurrently, so the ranks of a page are one core call. Reads have a budget.
    """
    callers = [caller_of(call) for call in calls]
    if calls[0]["info"]["parentTypeName"] == "Mutation":
        return await _answer_all(db, boards, calls, callers)
    with metered(min((budget_of(caller.role) for caller in callers), key=lambda budget: budget.units)):
        return await _answer_all(db, boards, calls, callers)


async def _answer_all(
    db: Database, boards: Boards, calls: Sequence[Call], callers: Sequence[Caller]
) -> list[Envelope]:
    contexts = {caller: Context(db=db, boards=boards, caller=caller) for caller in callers}
    sources = await Sources.read(boards, calls)
    alike: defaultdict[object, list[int]] = defaultdict(list)
    for index, (caller, call) in enumerate(zip(callers, calls, strict=True)):
        info = call["info"]
        arguments = repr(call.get("arguments"))
        # A field of a root is called once for each time that it is asked for.
        once = index if info["parentTypeName"] in _ROOTS else None
        alike[caller, info["parentTypeName"], info["fieldName"], _unselected(call), arguments, once].append(
            index
        )
    groups = list(alike.values())
    answered = await asyncio.gather(
        *(
            _answer(contexts[callers[group[0]]], sources, [calls[index] for index in group])
            for group in groups
        )
    )
    envelopes = dict(zip(chain.from_iterable(groups), chain.from_iterable(answered), strict=True))
    return [envelopes[index] for index in range(len(calls))]


def caller_of(call: Call) -> Caller:
    """Return the caller by AppSync's identity: IAM, a token's claims, or none for an API key.

    A user of a Cognito identity pool also signs with IAM, under a role that every user of an app gets; so
    that is PUBLIC. A participant's id is the token's subject.
    """
    identity = call.get("identity") or {}
    if identity.get("userArn"):
        role = Role.PUBLIC if identity.get("cognitoIdentityId") else Role.ADMIN
        return Caller(role, name=identity["userArn"])
    subject = (identity.get("claims") or {}).get("sub")
    return Caller(Role.PARTICIPANT, subject) if subject else Caller(Role.PUBLIC)


async def _answer(context: Context, sources: Sources, calls: Sequence[Call]) -> list[Envelope]:
    """Return the envelopes of calls that differ in their sources alone, all answered by one query."""
    type_name, field = calls[0]["info"]["parentTypeName"], calls[0]["info"]["fieldName"]
    if type_name == "Subscription":
        return [await _begin(context, call["arguments"]) for call in calls]
    parents: list[object] = []
    for call in calls:
        try:
            parents.append(sources.parent(type_name, call))
        except LeaderboardNotFound as refusal:
            parents.append(refusal)
    result = execute(
        _rooted_in(type_name),
        _document(type_name, field, _unselected(calls[0])),
        root_value={_PARENTS: parents},
        context_value=context,
        variable_values=dict(calls[0].get("arguments") or {}),
        executor_class=PlainFields,
    )
    if not isinstance(result, ExecutionResult):
        result = await result
    errors = result.errors or []
    log_unexpected(errors)
    if type_name in _ROOTS:
        return [_envelope(field, result.data, errors)]
    found = result.data[_PARENTS] if result.data else [None for _ in calls]
    by_index: defaultdict[object, list[GraphQLError]] = defaultdict(list)
    for error in errors:
        for index in [error.path[1]] if error.path else range(len(calls)):
            by_index[index].append(error)
    return [_envelope(field, data, by_index[index]) for index, data in enumerate(found)]


def _envelope(field: str, data: Mapping[str, Any] | None, errors: Sequence[GraphQLError]) -> Envelope:
    if errors:
        error = describe(errors[0])
        return _refusal(error.get("errorType", InvalidInput.__name__), error["message"])
    assert data is not None  # noqa: S101 - without errors there is data
    return {"data": data[field]}


async def _begin(context: Context, arguments: Mapping[str, Any]) -> Envelope:
    """Admit a subscription or refuse it; AppSync itself delivers the events.

    AppSync compares each argument with the event's field of that name. A period's alias has to be compared
    with `periodAlias` instead, so the envelope has a filter, which replaces the comparison of all arguments.
    """
    try:
        by_alias = await admit(
            context, arguments["leaderboardId"], arguments.get("participantId"), arguments.get("period")
        )
    except Exception as error:
        return _refusal(*describe_exception(error))
    if not by_alias:
        return {"data": None}
    filters = [
        {"fieldName": "periodAlias" if name == "period" else name, "operator": "eq", "value": value}
        for name, value in arguments.items()
    ]
    return {"data": None, "filter": {"filterGroup": [{"filters": filters}]}}


def _refusal(error_type: object, message: object) -> Envelope:
    return {"data": None, "errorType": error_type, "errorMessage": message}


def _schema() -> GraphQLSchema:
    """Return the schema with AWSJSON as AppSync passes it, parsed, and with the field for sources."""
    json_value = strawberry.scalar(name="AWSJSON", serialize=_read_json, parse_value=write_json)
    built = strawberry.Schema(
        query=Query,
        mutation=Mutation,
        config=StrawberryConfig(scalar_map={**SCALARS, AWSJSON: json_value}),
    )._schema
    entry = built.type_map["Entry"]
    assert isinstance(entry, GraphQLObjectType)  # noqa: S101
    entry.fields[SOURCE_FIELD] = GraphQLField(GraphQLString, extensions={READS: pack_entry})
    return built


def _read_json(text: str) -> object:
    value = json.loads(text)
    return text if value is None else value  # GraphQL would read a null as no metadata


_SCHEMA = _schema()


@cache
def _rooted_in(type_name: str) -> GraphQLSchema:
    """Return a schema whose queries start at a root, or at a list of objects of a type."""
    if type_name in _ROOTS:
        return _SCHEMA
    parents = GraphQLField(GraphQLList(_object_type(type_name)))
    return GraphQLSchema(query=GraphQLObjectType("Parents", {_PARENTS: parents}), assume_valid=True)


def _unselected(call: Call) -> str | None:
    """Return the costly subfield if the client certainly did not select it.

    AppSync shows the selection with the names of fragments, without their content.
    """
    info = call["info"]
    costly = _COSTLY.get((info["parentTypeName"], info["fieldName"]))
    selected = info.get("selectionSetGraphQL") or "..."
    return None if costly is None or costly in selected or "..." in selected else costly


@cache
def _document(type_name: str, field: str, unselected: str | None) -> DocumentNode:
    """Return the query of one field: all arguments are variables, and all it holds is selected."""
    definition = _object_type(type_name).fields[field]
    kind = "mutation" if type_name == "Mutation" else "query"
    declared = ", ".join(f"${name}: {argument.type}" for name, argument in definition.args.items())
    passed = ", ".join(f"{name}: ${name}" for name in definition.args)
    selection = _selection(get_named_type(definition.type), unselected)
    query = f"{field}({passed}) {selection}"
    if type_name not in _ROOTS:
        query = f"{_PARENTS} {{ {query} }}"
    return parse(f"{kind} ({declared}) {{ {query} }}")


def _selection(of: object, unselected: str | None = None) -> str:
    """Return the selection of all fields that have no resolver of their own, and of theirs."""
    if not is_object_type(of):
        return ""
    with_resolver = FIELDS.get(of.name, {})
    parts = []
    for name, field in of.fields.items():
        if name not in with_resolver and name != unselected:
            inner = get_named_type(field.type)
            parts.append(name if is_leaf_type(inner) else f"{name} {_selection(inner)}")
    return f"{{ {' '.join(parts)} }}"


def _object_type(name: str) -> GraphQLObjectType:
    found = _SCHEMA.type_map[name]
    assert isinstance(found, GraphQLObjectType)  # noqa: S101 - AppSync calls for fields of objects
    return found
