"""Run ministack, patched where it differs from AWS, in its own environment.

From AWS's documentation: a resolver receives the IAM identity of a signed request; AWSJSON is parsed in
arguments and serialized in results; events of a stream mapping with a tumbling window name their shard; an
alarm's description is complete.
"""

import json
from functools import partial
from typing import Any
from xml.sax.saxutils import escape

from graphql import GraphQLSchema
from ministack.app import main
from ministack.core import appsync_graphql
from ministack.services import appsync, cloudwatch, lambda_svc

IDENTITY = {"accountId": "000000000000", "userArn": "arn:aws:iam::000000000000:user/operator"}
WINDOW = "TumblingWindowInSeconds"


def identify() -> None:
    """Pass the identity of a signed request to resolvers."""
    make_context = appsync._js_ctx

    def with_identity(
        args: Any, identity: Any, source: Any, headers: dict[str, str], *rest: Any, **named: Any
    ) -> Any:
        signed = {key.lower(): value for key, value in headers.items()}.get("authorization", "")
        if identity is None and signed.startswith("AWS4-HMAC-SHA256"):
            identity = IDENTITY
        return make_context(args, identity, source, headers, *rest, **named)

    appsync._js_ctx = with_identity


def parse_json() -> None:
    """Parse and serialize AWSJSON as AWS does."""
    build = appsync_graphql.build_api_schema

    def with_json(api_id: str, sdl: str) -> GraphQLSchema:
        schema: GraphQLSchema = build(api_id, sdl)
        scalar: Any = schema.type_map["AWSJSON"]
        scalar.parse_value = json.loads
        scalar.parse_literal = lambda node, _=None: json.loads(node.value)
        scalar.serialize = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)
        return schema

    appsync_graphql.build_api_schema = with_json


def name_shards() -> None:
    """Store a mapping's tumbling window, and name the shard in its events."""
    create, update, execute = lambda_svc._create_esm, lambda_svc._update_esm, lambda_svc._execute_function

    def keep(answer: Any, data: dict[str, Any]) -> Any:
        uuid = json.loads(answer[2]).get("UUID")
        if uuid and WINDOW in data:
            lambda_svc._esms[uuid][WINDOW] = data[WINDOW]
        return answer

    def with_shard(function: Any, event: Any, *rest: Any, **named: Any) -> Any:
        records = event.get("Records") if isinstance(event, dict) else None
        if records and records[0].get("eventSource") == "aws:dynamodb":
            shard = "shardId-00000000000000000000-00000000"
            event = {**event, "shardId": shard, "state": {}, "window": {}, "isFinalInvokeForWindow": False}
        return execute(function, event, *rest, **named)

    lambda_svc._create_esm = lambda data: keep(create(data), data)
    lambda_svc._update_esm = lambda uuid, data: keep(update(uuid, data), data)
    lambda_svc._execute_function = with_shard


def describe_alarms() -> None:
    """Add the fields that the XML description of an alarm lacks."""
    describe = cloudwatch._describe_alarms

    def in_full(*arguments: Any) -> Any:
        status, headers, body = describe(*arguments)
        text = body if isinstance(body, str) else body.decode()
        if text.startswith("<?xml"):
            for name, alarm in cloudwatch._alarms.items():
                tag = f"<AlarmName>{name}</AlarmName>"
                text = text.replace(tag, tag + _missing_fields(alarm))
            body = text.encode()
        return status, headers, body

    cloudwatch._describe_alarms = in_full


def _missing_fields(alarm: dict[str, Any]) -> str:
    plain = "".join(
        f"<{name}>{escape(str(alarm[name]))}</{name}>"
        for name in ("AlarmDescription", "Statistic", "Period", "TreatMissingData")
    )
    dimensions = "".join(
        f"<member><Name>{one['Name']}</Name><Value>{one['Value']}</Value></member>"
        for one in alarm["Dimensions"]
    )
    enabled = str(alarm["ActionsEnabled"]).lower()
    return f"{plain}<ActionsEnabled>{enabled}</ActionsEnabled><Dimensions>{dimensions}</Dimensions>"


if __name__ == "__main__":
    identify()
    parse_json()
    name_shards()
    describe_alarms()
    main()
