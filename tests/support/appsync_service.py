"""AppSync's part of a request, for tests: execute a query and call the resolvers' Lambda as AppSync does.

From AWS's documentation: the fields of `appsync_fields.json` call the Lambda; concurrent calls of a batched
field come in one list; a nested call's source is what the parent's call returned; any other field is read
from its parent by name; AWSJSON is parsed in arguments and serialized in responses.
"""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from graphql import GraphQLError, GraphQLResolveInfo, build_schema, graphql, print_ast
from strawberry.dataloader import DataLoader

from local.stack.roles import acting_as
from resolvers.appsync import FIELDS

IAM = {"accountId": "123456789012", "userArn": "arn:aws:sts::123456789012:assumed-role/game/server"}
ROOT = Path(__file__).parents[2]
# AppSync's own definitions, and the schema.
SDL = (ROOT / "docs/appsync.graphql").read_text() + (ROOT / "schema.graphql").read_text()

Invoke = Callable[[Any], Any]


class ResolverError(Exception):
    """The error that `util.error` raises in the resolvers' response function."""

    def __init__(self, message: str, error_type: str) -> None:
        super().__init__(message)
        self.error_type = error_type


class AppSync:
    """Calls a Lambda and records the fields of each invocation in `invocations`."""

    def __init__(self, invoke: Invoke) -> None:
        self._invoke = invoke
        self.invocations: list[list[str]] = []
        self._schema = build_schema(SDL)
        scalar: Any = self._schema.type_map["AWSJSON"]
        scalar.coerce_input_value = json.loads
        scalar.coerce_input_literal = lambda node: json.loads(node.value)
        scalar.coerce_output_value = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)

    def ask(self, query: str, *, identity: dict[str, Any] | None = IAM, **variables: Any) -> dict[str, Any]:
        """Return the whole response as AppSync writes it."""
        return asyncio.run(self._ask(query, identity, variables))

    async def _ask(
        self, query: str, identity: dict[str, Any] | None, variables: dict[str, Any]
    ) -> dict[str, Any]:
        loaders: dict[tuple[str, str], DataLoader[Any, Any]] = {}

        async def resolve(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
            type_name, field = info.parent_type.name, info.field_name
            max_batch_size = FIELDS.get(type_name, {}).get(field)
            if max_batch_size is None:
                return source[field]
            call = {
                "arguments": arguments,
                "identity": identity,
                "source": source,
                "info": {
                    "parentTypeName": type_name,
                    "fieldName": field,
                    "selectionSetGraphQL": "".join(
                        print_ast(node.selection_set) for node in info.field_nodes if node.selection_set
                    ),
                },
            }
            if max_batch_size == 0:
                envelope = await self._call(call)
            else:
                if (type_name, field) not in loaders:
                    loaders[type_name, field] = DataLoader(
                        self._call_batch, max_batch_size=max_batch_size, cache=False
                    )
                envelope = await loaders[type_name, field].load(call)
            if envelope.get("errorMessage"):
                raise ResolverError(envelope["errorMessage"], envelope["errorType"])
            return envelope["data"]

        result = await graphql(self._schema, query, variable_values=variables, field_resolver=resolve)
        response: dict[str, Any] = {"data": result.data}
        if result.errors:
            response["errors"] = [_error(error) for error in result.errors]
        return response

    async def _call(self, call: dict[str, Any]) -> Any:
        self.invocations.append([call["info"]["fieldName"]])
        return await self._lambda(call)

    async def _call_batch(self, calls: list[dict[str, Any]]) -> list[Any]:
        self.invocations.append([call["info"]["fieldName"] for call in calls])
        envelopes: list[Any] = await self._lambda(calls)
        return envelopes

    async def _lambda(self, event: Any) -> Any:
        """Invoke with JSON both ways, on a thread, as the handler has a loop of its own."""
        with acting_as("api"):
            answer = await asyncio.to_thread(self._invoke, json.loads(json.dumps(event)))
        return json.loads(json.dumps(answer))


def _error(error: GraphQLError) -> dict[str, Any]:
    cause = error.original_error
    return {
        "path": error.path,
        "errorType": cause.error_type if isinstance(cause, ResolverError) else None,
        "message": error.message,
    }
