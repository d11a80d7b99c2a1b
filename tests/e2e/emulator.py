"""ministack, completed where it differs from AWS; runs in an environment of its own.

From AWS's documentation: resolvers get the IAM identity of a signed request; AWSJSON is parsed on the way in
and written on the way out; a stream mapping with a tumbling window names the shard in its events; alarms are
described as they were put; events of an HTTP API hold the stage's variables.
"""

import json
from functools import partial
from typing import Any
from xml.sax.saxutils import escape

from graphql import GraphQLSchema
from ministack.app import main
from ministack.core import appsync_graphql
from ministack.services import apigateway, appsync, cloudwatch, lambda_svc

IDENTITY = {"accountId": "000000000000", "userArn": "arn:aws:iam::000000000000:user/operator"}
WINDOW = "TumblingWindowInSeconds"


def identify() -> None:
    """Pass the signer's identity to resolvers."""
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
    """Parse and write AWSJSON as AWS does."""
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
    """Keep a mapping's window and put the shard into its events."""
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


def pass_stage_variables() -> None:
    """Put the stage's variables into an HTTP API's events."""
    execute = lambda_svc._execute_function_with_config_scope

    def with_variables(record: Any, event: Any, *rest: Any, **named: Any) -> Any:
        context = event.get("requestContext") if isinstance(event, dict) else None
        if context and "apiId" in context:  # else it is no event of an API
            variables = apigateway._get_stage_variables(context["apiId"], context["stage"])
            event = {**event, "stageVariables": variables}
        return execute(record, event, *rest, **named)

    lambda_svc._execute_function_with_config_scope = with_variables


def describe_alarms() -> None:
    """Add what the XML description of an alarm leaves out."""
    describe = cloudwatch._describe_alarms

    def in_full(*arguments: Any) -> Any:
        status, headers, body = describe(*arguments)
        text = body if isinstance(body, str) else body.decode()
        if text.startswith("<?xml"):
            for name, alarm in cloudwatch._alarms.items():
                tag = f"<AlarmName>{name}</AlarmName>"
                text = text.replace(tag, tag + _left_out(alarm))
            body = text.encode()
        return status, headers, body

    cloudwatch._describe_alarms = in_full


def _left_out(alarm: dict[str, Any]) -> str:
    names = ["AlarmDescription", "TreatMissingData"]
    if alarm["MetricName"]:  # else its metrics are queries, with periods of their own
        names += ["Period", "ExtendedStatistic" if alarm["ExtendedStatistic"] else "Statistic"]
    plain = "".join(f"<{name}>{escape(str(alarm[name]))}</{name}>" for name in names)
    dimensions = "".join(
        f"<member><Name>{dimension['Name']}</Name><Value>{dimension['Value']}</Value></member>"
        for dimension in alarm["Dimensions"]
    )
    enabled = str(alarm["ActionsEnabled"]).lower()
    return f"{plain}<ActionsEnabled>{enabled}</ActionsEnabled><Dimensions>{dimensions}</Dimensions>"


if __name__ == "__main__":
    identify()
    parse_json()
    name_shards()
    pass_stage_variables()
    describe_alarms()
    main()
