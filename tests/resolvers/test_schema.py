"""schema.graphql: up to date, true to the public contract, and nothing in it that AppSync refuses."""

import subprocess
import sys
from pathlib import Path

import pytest
from graphql import (
    DocumentNode,
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    GraphQLInputObjectType,
    GraphQLObjectType,
    InputObjectTypeDefinitionNode,
    InputValueDefinitionNode,
    NonNullTypeNode,
    ObjectTypeDefinitionNode,
    is_introspection_type,
    parse,
    print_ast,
    value_from_ast_untyped,
)

from resolvers.schema import schema, sdl

ROOT = Path(__file__).parents[2]
COMMITTED = (ROOT / "schema.graphql").read_text()
CONTRACT = (ROOT / "tests/resolvers/contract.graphql").read_text()
AWS_SCALARS = {"AWSDateTime", "AWSJSON"}


def facts(document: DocumentNode) -> set[str]:
    """Say all that a schema promises, one line for each type, field, argument and enum value."""
    said = set()
    for definition in document.definitions:
        if isinstance(definition, EnumTypeDefinitionNode):
            said |= {f"enum {definition.name.value} {value.name.value}" for value in definition.values or ()}
        elif isinstance(definition, InputObjectTypeDefinitionNode):
            said |= {f"input {definition.name.value}.{promise(field)}" for field in definition.fields or ()}
        elif isinstance(definition, ObjectTypeDefinitionNode):
            for field in definition.fields or ():
                place = f"type {definition.name.value}.{field.name.value}"
                said.add(f"{place}: {print_ast(field.type)}")
                said |= {f"{place}({promise(argument)})" for argument in field.arguments or ()}
    return said


def promise(value: InputValueDefinitionNode) -> str:
    default = f" = {print_ast(value.default_value)}" if value.default_value else ""
    return f"{value.name.value}: {print_ast(value.type)}{default}"


def test_the_committed_schema_is_printed_from_the_types() -> None:
    assert sdl() == COMMITTED, "run `make schema`"


def test_the_module_prints_it() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "resolvers.schema"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert printed.stdout == COMMITTED


def test_the_contract_is_kept_to_the_letter() -> None:
    missing = facts(parse(CONTRACT)) - facts(parse(COMMITTED))
    assert not missing


def test_a_client_of_the_contract_meets_no_new_duty() -> None:
    promised = facts(parse(CONTRACT))
    # What a new field asks for is no duty of those who do not know it.
    known = {fact.partition(":")[0] for fact in promised}
    duties = [
        fact
        for fact in facts(parse(COMMITTED)) - promised
        if fact.startswith("input") or fact.partition("(")[0] in known
        if "!" in fact[-2:]
    ]
    assert not duties


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
def test_the_comparison_sees_a_broken_promise(promised: str, kept: str) -> None:
    assert promised in CONTRACT
    assert facts(parse(CONTRACT)) - facts(parse(CONTRACT.replace(promised, kept)))


def test_nothing_that_appsync_refuses() -> None:
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
        assert refused not in COMMITTED
    used = {word for word in COMMITTED.replace("(", " ").split() if word.startswith("@")}
    assert used == {
        "@aws_subscribe",
        "@aws_iam",
        "@aws_api_key",
        "@aws_cognito_user_pools",
        "@aws_oidc",
    }


def test_who_may_use_what() -> None:
    """Types are for all, mutations for IAM alone but for submissions, which are also for who signed in."""
    types = {
        definition.name.value: definition
        for definition in parse(COMMITTED).definitions
        if isinstance(definition, ObjectTypeDefinitionNode)
    }
    everyone = ["aws_iam", "aws_api_key", "aws_cognito_user_pools", "aws_oidc"]
    signed_in = ["aws_iam", "aws_cognito_user_pools", "aws_oidc"]
    for name, definition in types.items():
        assert marks(definition) == (everyone[:1] if name == "Mutation" else everyone)
    marked = {field.name.value: marks(field) for field in types["Mutation"].fields or ()}
    assert {name: found for name, found in marked.items() if found} == {
        "submitScore": signed_in,
        "submitScores": signed_in,
        "publishRankBucketChange": ["aws_iam"],
        "publishTopChange": ["aws_iam"],
    }


def marks(node: ObjectTypeDefinitionNode | FieldDefinitionNode) -> list[str]:
    return [directive.name.value for directive in node.directives or ()]


def test_only_appsyncs_scalars_are_used_undeclared() -> None:
    document = parse(COMMITTED)
    declared = {definition.name.value for definition in document.definitions if hasattr(definition, "name")}
    builtin = {"ID", "String", "Int", "Float", "Boolean"}
    words = {word.strip("[]!:,()") for word in COMMITTED.split()}
    assert {word for word in words if word.startswith("AWS")} == AWS_SCALARS
    assert not declared & (AWS_SCALARS | builtin)


def test_each_subscription_argument_is_a_field_of_what_it_gives() -> None:
    """AppSync matches subscribers by comparing the arguments with the fields of the mutation's result."""
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
        assert {one.name.value for one in subscription.arguments or ()} <= fields


def test_everything_is_described() -> None:
    undescribed = []
    for name, kind in schema._schema.type_map.items():
        if is_introspection_type(kind) or name in {"ID", "String", "Int", "Float", "Boolean"}:
            continue
        if not kind.description:
            undescribed.append(name)
        if isinstance(kind, GraphQLObjectType | GraphQLInputObjectType):
            for field_name, field in kind.fields.items():
                if not field.description:
                    undescribed.append(f"{name}.{field_name}")
        if isinstance(kind, GraphQLObjectType):
            undescribed += [
                f"{name}.{field_name}({argument_name})"
                for field_name, field in kind.fields.items()
                for argument_name, argument in field.args.items()
                if not argument.description
            ]
    assert not undescribed
