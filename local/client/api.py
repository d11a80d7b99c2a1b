"""A client of a stack's GraphQL API, local or on AppSync: queries over HTTP, subscriptions over sockets."""

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
from local.stack.target import find_running

_AWS_HOST = ".amazonaws.com"


class Transport(AppSyncWebsocketsTransport):
    """gql's, which lets nobody know when a subscription has begun."""

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
    """Where an API is, and how to say who asks: the same for both ways to ask."""

    url: str
    auth: AppSyncAuthentication

    def transport(self) -> Transport:
        """Make a connection for subscriptions."""
        parts = urlsplit(self.url)
        scheme = "ws" if parts.scheme == "http" else "wss"
        # gql finds AppSync's own host for sockets; where there is a domain, they have a path.
        path = parts.path if parts.netloc.endswith(_AWS_HOST) else f"{parts.path}/realtime"
        return Transport(f"{scheme}://{parts.netloc}{path}", self.auth)

    async def ask(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Ask over HTTP.

        Raises:
            Refused: the answer has an error.
            TransportConnectionFailed: there is no answer, or none of GraphQL.
        """
        body = json.dumps({"query": query, "variables": variables})
        kind = {"content-type": "application/json"}
        headers = kind | self.auth.get_headers(body, dict(kind))
        try:
            async with httpx.AsyncClient(timeout=30) as http:
                answer = (await http.post(self.url, content=body, headers=headers)).json()
        except (httpx.HTTPError, ValueError) as error:
            raise TransportConnectionFailed(f"{self.url} does not answer: {error}") from error
        if answer.get("errors"):
            raise Refused(answer["errors"])
        data: dict[str, Any] = answer["data"]
        return data


def find(args: argparse.Namespace) -> Api:
    """Give the API that the arguments name: by URL, of a stack on AWS, or of the running local stack.

    Raises:
        StackError: there is none.
    """
    url, key = args.url, args.api_key
    if url is None and args.stack is not None:
        url = _find_on_aws(args.stack, args.region)
    elif url is None:
        running = find_running(args.data)
        if running is None:
            raise StackError(
                f"no stack runs on {args.data}; start it with `leaderboard run`, or name a --url"
            )
        url, key = running.url, key or ADMIN_KEY
    host = urlsplit(url).netloc
    if not host:
        raise StackError(f"--url: must be a URL such as https://host/graphql, not {url!r}")
    if key is not None:
        return Api(url, AppSyncApiKeyAuthentication(host, key))
    return Api(url, AppSyncIAMAuthentication(host, region_name=args.region))


def _find_on_aws(name: str, region: str | None) -> str:
    client = boto3.client("appsync", region_name=region)
    for page in client.get_paginator("list_graphql_apis").paginate():
        for api in page["graphqlApis"]:
            if api["name"] == name:
                url: str = api["uris"]["GRAPHQL"]
                return url
    region = client.meta.region_name
    raise StackError(f"there is no API named {name} in {region}; check --stack and --region")
