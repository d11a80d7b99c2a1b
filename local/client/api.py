"""A client of a stack's GraphQL API: queries over HTTP, subscriptions over AppSync's WebSockets."""

import argparse
import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import boto3
import httpx
from gql.transport.appsync_auth import (
    AppSyncApiKeyAuthentication,
    AppSyncAuthentication,
    AppSyncIAMAuthentication,
)
from gql.transport.appsync_websockets import AppSyncWebsocketsTransport
from gql.transport.exceptions import TransportConnectionFailed
from graphql import ExecutionResult

from local import ADMIN_KEY
from local.errors import Refused, StackError
from local.stack.running import find_running

_AWS_HOST = ".amazonaws.com"


class Transport(AppSyncWebsocketsTransport):
    """gql's transport, with an event for what it hides: that a subscription was acknowledged."""

    def __init__(self, url: str, auth: AppSyncAuthentication) -> None:
        super().__init__(url, auth=auth)
        self.acknowledged = asyncio.Event()

    def _parse_answer(self, answer: str) -> tuple[str, int | None, ExecutionResult | None]:
        parsed = super()._parse_answer(answer)
        if parsed[0] == "start_ack":
            self.acknowledged.set()
        return parsed


@dataclass(frozen=True)
class Api:
    """An API's address and how requests to it are authorized."""

    url: str
    auth: AppSyncAuthentication

    def transport(self) -> Transport:
        """Return a transport for subscriptions; it connects when a gql client opens it."""
        parts = urlsplit(self.url)
        scheme = "ws" if parts.scheme == "http" else "wss"
        # gql knows the WebSocket host of an AppSync API. With a custom domain, a path tells it apart.
        path = parts.path if parts.netloc.endswith(_AWS_HOST) else f"{parts.path}/realtime"
        return Transport(f"{scheme}://{parts.netloc}{path}", self.auth)

    async def ask(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Send a query over HTTP; return its data.

        Raises:
            Refused: the response has errors.
            TransportConnectionFailed: there is no response, or it is no GraphQL.
        """
        body = json.dumps({"query": query, "variables": variables})
        content_type = {"content-type": "application/json"}
        headers = content_type | self.auth.get_headers(body, dict(content_type))
        try:
            async with httpx.AsyncClient(timeout=30) as http:
                response = (await http.post(self.url, content=body, headers=headers)).json()
        except (httpx.HTTPError, ValueError) as error:
            raise TransportConnectionFailed(f"no GraphQL response from {self.url}: {error}") from error
        if response.get("errors"):
            raise Refused(response["errors"])
        data: dict[str, Any] = response["data"]
        return data


def find(args: argparse.Namespace) -> Api:
    """Return the API that the arguments name: by URL, of a stack on AWS, or of the running local stack.

    Raises:
        StackError: the URL is malformed, or there is no such stack.
    """
    url, key = args.url, args.api_key
    if url is None and args.stack is not None:
        url = _find_on_aws(args.stack, args.region)
    elif url is None:
        running = find_running(args.data)
        if running is None:
            raise StackError(
                f"no stack runs on data folder {args.data}; start it with `leaderboard run`, or name a --url"
            )
        url, key = running.url, key or ADMIN_KEY
    host = urlsplit(url).netloc
    if not host:
        raise StackError(f"--url: must be a URL such as https://host/graphql, not {url!r}")
    if key is not None:
        return Api(url, AppSyncApiKeyAuthentication(host, key))
    region = args.region or boto3.Session().region_name
    if region is None:
        raise StackError("--url: needs --api-key, or AWS credentials and --region to sign requests with")
    return Api(url, AppSyncIAMAuthentication(host, region_name=region))


def _find_on_aws(name: str, region: str | None) -> str:
    client = boto3.client("appsync", region_name=region)
    for page in client.get_paginator("list_graphql_apis").paginate():
        for api in page["graphqlApis"]:
            if api["name"] == name:
                url: str = api["uris"]["GRAPHQL"]
                return url
    region = client.meta.region_name
    raise StackError(f"there is no API named {name} in {region}; check --stack and --region")
