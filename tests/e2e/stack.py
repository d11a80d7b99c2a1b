"""Two stacks that Terraform makes on the emulator: one to drive, one beside it in the same account."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from gql import Client, gql
from gql.transport.exceptions import TransportQueryError
from gql.transport.httpx import HTTPXTransport

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build/e2e"
EMULATOR = ROOT / "build/emulator/bin/python"
REGION = "eu-west-1"
FIRST = """
  deletion_protection = false
  http                = { authorization = "NONE" }
"""
# Nearly every variable except the name: none may replace a table.
CHANGED = """
  deletion_protection    = false
  point_in_time_recovery = false
  tags                   = { team = "games" }
  architecture           = "x86_64"
  memory_size            = { api = 2048 }
  reserved_concurrency   = { stream = 5 }
  log_retention_days     = 7
  retention              = { daily_days = 7 }
  api_log_level          = "NONE"
  introspection          = false
  query_depth_limit      = 12
  resolver_count_limit   = 5000
  stream                 = { batch_window = 1 }
  notify_max_concurrency = 3
  on_demand_ceilings     = { records = { read = 1000, write = 1000 } }
  alarm_thresholds       = { latency_ms = 500 }
  budget                 = { usd_a_month = 20, emails = ["ops@example.com"] }
"""
# Planned and not applied: the emulator has no autoscaling.
PROVISIONED = """
  provisioned_capacity = {
    scores   = { read_min = 5, read_max = 100, write_min = 10, write_max = 200 }
    counters = { read_min = 5, read_max = 100, write_min = 5, write_max = 100 }
    boards   = { read_min = 1, read_max = 10, write_min = 1, write_max = 10 }
  }
"""
# The second stack uses the options that the first does not.
CONFIGURATION = """
module "stack" {
  source      = "../../infra"
  name_prefix = "first"
  %s
}

module "beside" {
  source              = "../../infra"
  name_prefix         = "second"
  deletion_protection = false
  http                = { authorization = "AWS_IAM" }
  tracing             = true
  waf_rate_limit      = 1000
  provisioned_concurrency = { http = 1 }
  on_demand_ceilings  = { scores = { read = 1000, write = 1000 } }
  architecture        = "x86_64"
  tags                = { team = "games" }
  api_keys            = { web = 30 }
}

output "stack" {
  value     = module.stack
  sensitive = true
}

output "beside" {
  value     = module.beside
  sensitive = true
}
"""


class Stack:
    """The emulator, and Terraform working on it."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._environment = os.environ | {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "TF_IN_AUTOMATION": "1",
        }

    def prepare(self) -> None:
        """Start without state, in a folder of this checkout that the configuration can refer from."""
        WORK.mkdir(parents=True, exist_ok=True)
        for left in WORK.glob("*.tfstate*"):
            left.unlink()
        self.configure(FIRST)
        self._run([str(ROOT / "scripts/terraform-init"), str(WORK)])

    def configure(self, variables: str) -> None:
        """Write the configuration with these variables of the first stack."""
        (WORK / "main.tf").write_text(CONFIGURATION % variables)

    def terraform(self, *arguments: str, expect: int = 0) -> str:
        """Run Terraform; return its output."""
        return self._run(["terraform", f"-chdir={WORK}", *arguments], expect)

    def outputs(self, name: str) -> dict[str, Any]:
        """Return a stack's outputs."""
        outputs: dict[str, Any] = json.loads(self.terraform("output", "-json", name))
        return outputs

    def http_client(self, outputs: dict[str, Any], *, sign: bool) -> "GraphQL":
        """Return a client of the plain HTTP endpoint."""
        url = f"{self.endpoint}/_aws/execute-api/{outputs['http_api_id']}/$default/graphql"
        return GraphQL(url, {}, SignedByIam("execute-api") if sign else None)

    def client(self, outputs: dict[str, Any], *, key: str | None = None) -> "GraphQL":
        """Return a client that sends an API key, or else signs with IAM."""
        url = f"{self.endpoint}/v1/apis/{outputs['api_id']}/graphql"
        return GraphQL(url, {"x-api-key": key} if key else {}, None if key else SignedByIam("appsync"))

    def _run(self, command: list[str], expect: int = 0) -> str:
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == expect, f"{command}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
        return done.stdout


class SignedByIam(httpx.Auth):
    """Sign requests for a service as AWS's clients do."""

    requires_request_body = True

    def __init__(self, service: str) -> None:
        self._signer = SigV4Auth(Credentials("test", "test"), service, REGION)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        signed = AWSRequest(request.method, str(request.url), data=request.content)
        self._signer.add_auth(signed)
        request.headers.update(dict(signed.headers))
        yield request


class GraphQL:
    """A public GraphQL client, over HTTP."""

    def __init__(self, url: str, headers: dict[str, str], auth: httpx.Auth | None) -> None:
        self._client = Client(transport=HTTPXTransport(url, headers=headers, auth=auth, timeout=60))

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """Return the whole response."""
        request = gql(query)
        request.variable_values = variables
        try:
            result = self._client.execute(request, get_execution_result=True)
        except TransportQueryError as error:
            return {"data": error.data, "errors": error.errors or []}
        return {"data": result.data, "errors": result.errors or []}


@contextmanager
def emulated(log: Path) -> Iterator[Stack]:
    """Run the emulator on a free port while the block runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(EMULATOR), str(Path(__file__).with_name("emulator.py"))],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            until = time.monotonic() + 60
            while not _answers(port):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < until, "the emulator does not start"
                time.sleep(0.1)
            yield Stack(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
