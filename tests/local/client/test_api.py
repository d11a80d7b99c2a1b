"""Find the API that a command works on."""

import argparse

import pytest

from local.client import api
from local.errors import StackError


def test_a_url_without_a_key_or_a_region_is_refused_by_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    args = argparse.Namespace(url="https://host/graphql", api_key=None, stack=None, region=None, data=None)
    with pytest.raises(StackError, match="--api-key"):
        api.find(args)
