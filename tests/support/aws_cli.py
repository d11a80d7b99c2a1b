"""The AWS CLI's commands in a document, as botocore's calls."""

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from botocore import xform_name
from botocore.model import StructureShape
from botocore.session import Session


class Command(NamedTuple):
    """One `aws` command as an operation of AWS's API. A parameter `<...>` is to be filled in."""

    service: str
    operation: str
    parameters: dict[str, Any]

    def call(self, client: Any, **filled_in: str) -> Any:
        """Call the operation, with some parameters replaced."""
        return getattr(client, xform_name(self.operation))(**self.parameters | filled_in)


def commands(document: Path) -> list[Command]:
    """Return the `aws` commands of a document's code blocks, in order.

    Raises:
        KeyError: AWS has no such service, operation or option.
    """
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", document.read_text(), re.DOTALL | re.MULTILINE)
    return [_command(words) for block in blocks for words in _lines(block) if words[0] == "aws"]


def input_shape(service: str, operation: str) -> StructureShape:
    """Return botocore's description of what an operation takes."""
    shape = Session().get_service_model(service).operation_model(operation).input_shape
    assert shape
    return shape


def _lines(block: str) -> list[list[str]]:
    """Split a block into commands and these into words; a quoted word may span lines."""
    joined = block.replace("\\\n", " ")
    found: list[list[str]] = []
    pending = ""
    for line in joined.splitlines():
        pending += line + "\n"
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:  # a quotation is open
            continue
        pending = ""
        if words:
            found.append(words)
    return found


def _command(words: list[str]) -> Command:
    _, service, name, *rest = words
    names = Session().get_service_model(service).operation_names
    operation = {xform_name(each, "-"): each for each in names}[name]
    shape = input_shape(service, operation)
    members = {xform_name(member, "-"): member for member in shape.members}
    parameters: dict[str, Any] = {}
    for option in " ".join(map(shlex.quote, rest)).split("--")[1:] if rest else ():
        key, *values = shlex.split(option)
        negated = key.removeprefix("no-")
        if not values and negated in members and negated != key:
            parameters[members[negated]] = False
        else:
            member = members[key]
            parameters[member] = _value(shape.members[member].type_name, values[0])
    return Command(service, operation, parameters)


def _value(kind: str, text: str) -> Any:
    if text.startswith(("[", "{")):
        return json.loads(text)
    if kind == "structure":
        return {key: int(value) for key, value in (pair.split("=") for pair in text.split(","))}
    return int(text) if kind in {"integer", "long"} else text
