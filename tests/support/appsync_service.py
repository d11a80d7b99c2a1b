"""AppSync's half of a request, for tests: executes a query and calls the resolvers' Lambda as AppSync does.

From AWS's documentation: root fields and those of the resolver map call the Lambda; calls of one batched
field that are due together come in one list; a nested call's source is what the parent's call returned; any
other field is read from its parent by name; AWSJSON is parsed on the way in and written on the way out.
"""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from graphql import GraphQLError, GraphQLResolveInfo, build_schema, graphql, print_ast
from strawberry.dataloader import DataLoader

from local.roles import acting_as
from resolvers.appsync import FIELDS

IAM = {"accountId": "123456789012", "userArn": "arn:aws:sts::123456789012:assumed-role/game/server"}
DECLARED = """
scalar AWSDateTime
scalar AWSJSON
directive @aws_subscribe(mutations: [String!]!) on FIELD_DEFINITION
directive @aws_iam on OBJECT | FIELD_DEFINITION
directive @aws_api_key on OBJECT
directive @aws_cognito_user_pools on OBJECT | FIELD_DEFINITION
directive @aws_oidc on OBJECT | FIELD_DEFINITION
"""

Invoke = Callable[[Any], Any]


class ResolverError(Exception):
    """What `util.error` raises in the resolvers' response function."""

    def __init__(self, message: str, error_type: str) -> None:
        super().__init__(message)
        self.error_type = error_type


class AppSync:
    """Keeps the names of the fields that each invocation was for, in `invocations`."""

    def __init__(self, invoke: Invoke) -> None:
        self._invoke = invoke
        self.invocations: list[list[str]] = []
        sdl = Path(__file__).parents[2].joinpath("schema.graphql").read_text()
        self._schema = build_schema(DECLARED + sdl)
        scalar: Any = self._schema.type_map["AWSJSON"]
        scalar.coerce_input_value = json.loads
        scalar.coerce_input_literal = lambda node: json.loads(node.value)
        scalar.coerce_output_value = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)

    def ask(self, query: str, *, identity: dict[str, Any] | None = IAM, **variables: Any) -> dict[str, Any]:
        """Give the whole response, as AppSync writes it."""
        return asyncio.run(self._ask(query, identity, variables))

    async def _ask(
        self, query: str, identity: dict[str, Any] | None, variables: dict[str, Any]
    ) -> dict[str, Any]:
        loaders: dict[tuple[str, str], DataLoader[Any, Any]] = {}

        async def resolve(source: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
            of, field = info.parent_type.name, info.field_name
            size = FIELDS.get(of, {}).get(field)
            if size is None:
                return source[field]
            call = {
                "arguments": arguments,
                "identity": identity,
                "source": source,
                "info": {
                    "parentTypeName": of,
                    "fieldName": field,
                    "selectionSetGraphQL": "".join(
                        print_ast(node.selection_set) for node in info.field_nodes if node.selection_set
                    ),
                },
            }
            if size == 0:
                envelope = await self._call(call)
            else:
                if (of, field) not in loaders:
                    loaders[of, field] = DataLoader(self._call_batch, max_batch_size=size, cache=False)
                envelope = await loaders[of, field].load(call)
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
        answers: list[Any] = await self._lambda(calls)
        return answers

    async def _lambda(self, event: Any) -> Any:
        """Cross the wire both ways, on a thread: the handler has a loop of its own."""
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
