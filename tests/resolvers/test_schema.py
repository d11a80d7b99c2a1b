"""schema.graphql: generated, described, true to the public contract, and accepted by AppSync."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    DocumentNode,
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    InputObjectTypeDefinitionNode,
    InputValueDefinitionNode,
    NonNullTypeNode,
    ObjectTypeDefinitionNode,
    Visitor,
    build_schema,
    parse,
    print_ast,
    validate_schema,
    value_from_ast_untyped,
    visit,
)

from resolvers.schema import schema, sdl
from tests.support.appsync_service import SDL

ROOT = Path(__file__).parents[2]
COMMITTED = (ROOT / "schema.graphql").read_text()
CONTRACT = (ROOT / "tests/resolvers/contract.graphql").read_text()
AWS_SCALARS = {"AWSDateTime", "AWSJSON"}


def uploaded() -> str:
    """Return what Terraform uploads: the schema without descriptions, removed by the pattern in api.tf."""
    pattern = re.search(r'schema\.graphql"\), "/(.+)/", ""\)', (ROOT / "infra/api.tf").read_text())
    assert pattern
    return re.sub(pattern[1].replace('\\"', '"'), "", COMMITTED)


UPLOADED = uploaded()


class WithoutDescriptions(Visitor):
    def enter(self, node: Any, *_: object) -> Any:
        return replace(node, description=None) if getattr(node, "description", None) else None


def facts(document: DocumentNode) -> set[str]:
    """Return what a schema promises, one line for each field, argument, input field and enum value."""
    lines = set()
    for definition in document.definitions:
        if isinstance(definition, EnumTypeDefinitionNode):
            lines |= {f"enum {definition.name.value} {value.name.value}" for value in definition.values or ()}
        elif isinstance(definition, InputObjectTypeDefinitionNode):
            lines |= {f"input {definition.name.value}.{promise(field)}" for field in definition.fields or ()}
        elif isinstance(definition, ObjectTypeDefinitionNode):
            for field in definition.fields or ():
                place = f"type {definition.name.value}.{field.name.value}"
                lines.add(f"{place}: {print_ast(field.type)}")
                lines |= {f"{place}({promise(argument)})" for argument in field.arguments or ()}
    return lines


def promise(value: InputValueDefinitionNode) -> str:
    default = f" = {print_ast(value.default_value)}" if value.default_value else ""
    return f"{value.name.value}: {print_ast(value.type)}{default}"


def test_the_committed_schema_is_printed_from_the_types() -> None:
    assert sdl() == COMMITTED, "run `make schema`"


def test_running_the_module_prints_the_committed_schema() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "resolvers.schema"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert printed.stdout == COMMITTED


def test_the_schema_has_all_that_the_contract_promises() -> None:
    missing = facts(parse(CONTRACT)) - facts(parse(COMMITTED))
    assert not missing


def test_no_additional_argument_or_input_field_is_required() -> None:
    promised = facts(parse(CONTRACT))
    # Arguments of additional fields may be required.
    promised_fields = {fact.partition(":")[0] for fact in promised}
    required = [
        fact
        for fact in facts(parse(COMMITTED)) - promised
        if fact.startswith("input") or fact.partition("(")[0] in promised_fields
        if fact.endswith("!")
    ]
    assert not required


@pytest.mark.parametrize(
    ("promised", "kept"),
    [
        ("limit: Int = 10", "limit: Int = 11"),
        ("title: String", "title: String!"),
        ("ALL_TIME DAILY", "DAILY"),
        ("around(", "near("),
        ("radius: Int = 5", "radius: Int"),
    ],
)
def test_the_comparison_detects_a_broken_promise(promised: str, kept: str) -> None:
    assert promised in CONTRACT
    assert facts(parse(CONTRACT)) - facts(parse(CONTRACT.replace(promised, kept)))


def test_the_uploaded_schema_has_nothing_that_appsync_refuses() -> None:
    for refused in (
        '"""',
        "#",
        "scalar ",
        "directive ",
        "interface ",
        "union ",
        "extend ",
        "schema ",
        "= null",
    ):
        assert refused not in UPLOADED
    used = {word for word in UPLOADED.replace("(", " ").split() if word.startswith("@")}
    assert used == {
        "@aws_subscribe",
        "@aws_iam",
        "@aws_api_key",
        "@aws_cognito_user_pools",
        "@aws_oidc",
    }


def test_which_authorization_modes_types_and_mutations_allow() -> None:
    """Types allow all modes. Mutations allow IAM alone; submissions allow tokens as well."""
    types = {
        definition.name.value: definition
        for definition in parse(COMMITTED).definitions
        if isinstance(definition, ObjectTypeDefinitionNode)
    }
    everyone = ["aws_iam", "aws_api_key", "aws_cognito_user_pools", "aws_oidc"]
    signed_in = ["aws_iam", "aws_cognito_user_pools", "aws_oidc"]
    for name, definition in types.items():
        assert modes(definition) == (everyone[:1] if name == "Mutation" else everyone)
    of_fields = {field.name.value: modes(field) for field in types["Mutation"].fields or ()}
    assert {name: found for name, found in of_fields.items() if found} == {
        "submitScore": signed_in,
        "submitScores": signed_in,
        "publishRankBucketChange": ["aws_iam"],
        "publishTopChange": ["aws_iam"],
    }


def modes(node: ObjectTypeDefinitionNode | FieldDefinitionNode) -> list[str]:
    return [directive.name.value for directive in node.directives or ()]


def test_only_appsyncs_scalars_are_not_declared() -> None:
    document = parse(COMMITTED)
    declared = {definition.name.value for definition in document.definitions if hasattr(definition, "name")}
    builtin = {"ID", "String", "Int", "Float", "Boolean"}
    words = {word.strip("[]!:,()") for word in UPLOADED.split()}
    assert {word for word in words if word.startswith("AWS")} == AWS_SCALARS
    assert not declared & (AWS_SCALARS | builtin)


def test_each_subscription_argument_is_a_field_of_its_event() -> None:
    """AppSync compares a subscription's arguments with the fields of the mutation's result."""
    types = {
        definition.name.value: definition
        for definition in parse(COMMITTED).definitions
        if isinstance(definition, ObjectTypeDefinitionNode)
    }
    mutations = {field.name.value: field for field in types["Mutation"].fields or ()}
    for subscription in types["Subscription"].fields or ():
        (directive,) = subscription.directives or ()
        (argument,) = directive.arguments or ()
        (published,) = value_from_ast_untyped(argument.value)
        result = mutations[published].type
        assert isinstance(result, NonNullTypeNode)
        assert print_ast(result.type) == print_ast(subscription.type)
        fields = {field.name.value for field in types[print_ast(subscription.type)].fields or ()}
        assert {argument.name.value for argument in subscription.arguments or ()} <= fields


def test_everything_public_has_a_description() -> None:
    undescribed = []
    for definition in parse(COMMITTED).definitions:
        assert isinstance(
            definition, EnumTypeDefinitionNode | InputObjectTypeDefinitionNode | ObjectTypeDefinitionNode
        )
        name = definition.name.value
        nodes: dict[str, object] = {name: definition}
        members = definition.values if isinstance(definition, EnumTypeDefinitionNode) else definition.fields
        for member in members or ():
            nodes[f"{name}.{member.name.value}"] = member
            for argument in getattr(member, "arguments", None) or ():
                nodes[f"{name}.{member.name.value}({argument.name.value})"] = argument
        undescribed += [place for place, node in nodes.items() if not getattr(node, "description", None)]
    assert not undescribed


def test_the_committed_descriptions_are_wrapped_and_else_as_introspection_gives_them() -> None:
    assert max(map(len, COMMITTED.splitlines())) <= 110
    assert descriptions(COMMITTED) <= descriptions(schema.as_str())


def descriptions(text: str) -> set[str]:
    return {" ".join(found.split()) for found in re.findall('"""(.*?)"""', text, re.DOTALL)}


def test_the_uploaded_schema_differs_in_descriptions_alone() -> None:
    assert print_ast(parse(UPLOADED)) == print_ast(visit(parse(COMMITTED), WithoutDescriptions()))


def test_code_generators_can_build_the_schema() -> None:
    """From both files: docs/appsync.graphql declares AppSync's own scalars and directives."""
    built = build_schema(SDL)
    assert validate_schema(built) == []
    assert {directive.name for directive in built.directives} > {"aws_subscribe", "aws_iam", "aws_lambda"}
