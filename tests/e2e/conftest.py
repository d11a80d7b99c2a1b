"""The stacks on the emulator, which all files drive one after another."""

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest

from tests.e2e.stack import REGION, Stack, emulated


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    log = tmp_path_factory.mktemp("emulator") / "emulator.log"
    with emulated(log) as stack:
        stack.prepare()
        stack.terraform("apply", "-auto-approve", "-input=false")
        yield stack


@pytest.fixture(scope="session")
def aws(stack: Stack) -> Callable[[str], Any]:
    make_client: Any = boto3.client  # typed by service, which is a variable here

    def client(service: str) -> Any:
        return make_client(
            service,
            endpoint_url=stack.endpoint,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    return client
