"""AppSync's calls, answered by the same types and resolvers as everywhere else.

AppSync executes the query itself and calls once for each field of `appsync_fields.json`: with the field's
arguments, and for a nested one with what the parent's call returned, its source. Each call is executed as a
small query of that one field, whose root is the parent; it selects all that the field's value holds without
a resolver of its own. So arguments, inputs, scalars and errors are Strawberry's here too. A subscription's
call only lets it begin; the publish mutations need no call at all.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import strawberry
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLField,
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
from core.storage.database import Database
from resolvers.appsync_source import SOURCE_FIELD, Sources, pack_entry, write_json
from resolvers.auth import Caller, Role
from resolvers.context import Context
from resolvers.errors import describe, log_unforeseen, tell
from resolvers.mutations import Mutation
from resolvers.queries import Query
from resolvers.scalars import AWSJSON, SCALARS
from resolvers.subscriptions import admit

# By type and field, how many calls AppSync may put into one; 0: each by itself. Terraform reads it too.
FIELDS: Mapping[str, Mapping[str, int]] = json.loads(
    (Path(__file__).parent / "appsync_fields.json").read_text(encoding="utf-8")
)

# What costs reads of its own where it is selected, by the field that gives it.
_COSTLY = {("Entry", "rank"): "position"}

Call = Mapping[str, Any]
Answer = dict[str, Any]


async def answer(db: Database, boards: Boards, calls: Sequence[Call]) -> list[Answer]:
    """Answer AppSync's calls, in their order: each `{data}`, or `{errorType, errorMessage, data: null}`.

    Calls that came together are executed together, so the ranks of a page are one call of the core.
    """
    callers = [caller_of(call) for call in calls]
    contexts = {caller: Context(db=db, boards=boards, caller=caller) for caller in callers}
    sources = await asyncio.to_thread(Sources.read, boards, calls)
    return list(
        await asyncio.gather(
            *(_answer(contexts[caller], sources, call) for caller, call in zip(callers, calls, strict=True))
        )
    )


def caller_of(call: Call) -> Caller:
    """Know the caller by the identity that AppSync established: IAM, a token's claims, or none for a key.

    A guest of a Cognito identity pool comes through IAM as well, under a role that any app's user gets. A
    participant is known by the token's subject.
    """
    identity = call.get("identity") or {}
    if identity.get("userArn"):
        role = Role.PUBLIC if identity.get("cognitoIdentityId") else Role.ADMIN
        return Caller(role, name=identity["userArn"])
    subject = (identity.get("claims") or {}).get("sub")
    return Caller(Role.PARTICIPANT, subject) if subject else Caller(Role.PUBLIC)


async def _answer(context: Context, sources: Sources, call: Call) -> Answer:
    type_name, field = call["info"]["parentTypeName"], call["info"]["fieldName"]
    if type_name == "Subscription":
        return await _begin(context, call["arguments"])
    try:
        parent = sources.parent(type_name, call)
    except LeaderboardNotFound as gone:
        return _refusal(gone.code, str(gone))
    result = execute(
        _rooted_in(type_name),
        _document(type_name, field, _left_out(call)),
        root_value=parent,
        context_value=context,
        variable_values=dict(call.get("arguments") or {}),
    )
    if not isinstance(result, ExecutionResult):
        result = await result
    if result.errors:
        log_unforeseen(result.errors)
        error = describe(result.errors[0])
        return _refusal(error.get("errorType", InvalidInput.__name__), error["message"])
    assert result.data is not None  # noqa: S101 - without errors there is data
    return {"data": result.data[field]}


async def _begin(context: Context, arguments: Mapping[str, Any]) -> Answer:
    """Let a subscription begin, or not; AppSync itself brings it its events."""
    try:
        await admit(
            context, arguments["leaderboardId"], arguments.get("participantId"), arguments.get("period")
        )
    except Exception as error:
        return _refusal(*tell(error))
    return {"data": None}


def _refusal(error_type: object, message: object) -> Answer:
    return {"data": None, "errorType": error_type, "errorMessage": message}


def _schema() -> GraphQLSchema:
    """Build the schema with AppSync's JSON, which it parses and writes itself, and what sources need."""
    json_value = strawberry.scalar(name="AWSJSON", serialize=_read_json, parse_value=write_json)
    built = strawberry.Schema(
        query=Query,
        mutation=Mutation,
        config=StrawberryConfig(scalar_map={**SCALARS, AWSJSON: json_value}),
    )._schema
    entry = built.type_map["Entry"]
    assert isinstance(entry, GraphQLObjectType)  # noqa: S101
    entry.fields[SOURCE_FIELD] = GraphQLField(GraphQLString, resolve=lambda one, _: pack_entry(one))
    return built


def _read_json(text: str) -> object:
    value = json.loads(text)
    return text if value is None else value  # a value that is null has no place in GraphQL but its text


_SCHEMA = _schema()


@cache
def _rooted_in(type_name: str) -> GraphQLSchema:
    """Give a schema whose queries start at a type."""
    if type_name in {"Query", "Mutation"}:
        return _SCHEMA
    return GraphQLSchema(query=_object_type(type_name), assume_valid=True)


def _left_out(call: Call) -> str | None:
    """Name the costly part of a value that the client did not select, if that is certain.

    AppSync shows what was selected, with fragments' names but not what is in them.
    """
    info = call["info"]
    costly = _COSTLY.get((info["parentTypeName"], info["fieldName"]))
    selected = info.get("selectionSetGraphQL") or "..."
    return None if costly is None or costly in selected or "..." in selected else costly


@cache
def _document(type_name: str, field: str, left_out: str | None) -> DocumentNode:
    """Write the query of one field, which has arguments: all are variables; all that is plain is selected."""
    definition = _object_type(type_name).fields[field]
    kind = "mutation" if type_name == "Mutation" else "query"
    declared = ", ".join(f"${name}: {argument.type}" for name, argument in definition.args.items())
    passed = ", ".join(f"{name}: ${name}" for name in definition.args)
    selection = _selection(get_named_type(definition.type), left_out)
    return parse(f"{kind} ({declared}) {{ {field}({passed}) {selection} }}")


def _selection(of: object, left_out: str | None = None) -> str:
    """Select what a type holds without calling: its plain fields, and theirs."""
    if not is_object_type(of):
        return ""
    own = FIELDS.get(of.name, {})
    parts = []
    for name, field in of.fields.items():
        if name not in own and name != left_out:
            inner = get_named_type(field.type)
            parts.append(name if is_leaf_type(inner) else f"{name} {_selection(inner)}")
    return f"{{ {' '.join(parts)} }}"


def _object_type(name: str) -> GraphQLObjectType:
    found = _SCHEMA.type_map[name]
    assert isinstance(found, GraphQLObjectType)  # noqa: S101 - AppSync calls for fields of objects
    return found
