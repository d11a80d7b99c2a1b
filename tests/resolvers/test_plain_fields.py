# mypy: disable-error-code=untyped-decorator
"""Plain fields are executed directly: the responses are those of Strawberry's own executor."""

import asyncio
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import pytest
import strawberry
from graphql import parse
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from resolvers.request.plain_fields import Asked, PlainFields, prefetched_by

if TYPE_CHECKING:
    from collections.abc import Sequence


@strawberry.enum
class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@strawberry.type
class Inner:
    number: int
    text: str | None


fetched: list[tuple[list[str], Asked]] = []
resolved: list[str] = []


async def double(objects: "Sequence[Outer]", asked: Asked) -> list[Any]:
    """Return twice each number, after all have been asked for; objects called "bad" have none."""
    fetched.append(([each.name for each in objects], asked))
    await asyncio.sleep(0)
    by = asked.arguments.get("by", 2)
    return [
        ValueError("bad it is") if each.name == "bad" else Inner(number=by * each.count, text=each.name)
        for each in objects
    ]


@strawberry.type
class Outer:
    name: str
    count: int
    colour: Colour
    inner: Inner | None
    inners: list[Inner]
    nested: list[list[int] | None]
    wrong: int | None = None

    @strawberry.field
    def method(self) -> str:
        return f"method of {self.name}"

    @strawberry.field
    @prefetched_by(double)
    async def doubled(
        self, info: strawberry.Info, by: Annotated[int, strawberry.argument(description="x")] = 2
    ) -> Inner | None:
        resolved.append(self.name)
        (value,) = await double([self], Asked(info.context, {"by": by}, frozenset(), in_query=True))
        if isinstance(value, Exception):
            raise value
        return value  # type: ignore[no-any-return]


def outer(name: str, **values: Any) -> Outer:
    plain: dict[str, Any] = {
        "count": 3,
        "colour": Colour.BLUE,
        "inner": Inner(number=1, text=None),
        "inners": [Inner(number=2, text="two"), Inner(number=3, text=None)],
        "nested": [[1, 2], None, []],
    }
    return Outer(name=name, **{**plain, **values})


OBJECTS = [outer("a"), outer("b", inner=None, count=4), outer("bad")]


@strawberry.type
class Query:
    @strawberry.field
    def one(self) -> Outer:
        return OBJECTS[0]

    @strawberry.field
    def many(self) -> list[Outer]:
        return OBJECTS

    @strawberry.field
    def holes(self) -> list[Outer | None]:
        return [OBJECTS[0], None]

    @strawberry.field
    def broken(self) -> list[Outer | None]:
        missing: Any = None
        return [
            outer("no colour", colour=missing),
            outer("no number", inner=Inner(number=missing, text="x")),
            outer("no int", wrong="not a number"),
            outer("sound"),
        ]


QUERIES = [
    "{ one { name count colour inner { number text } inners { text } nested } }",
    "{ many { name inner { number } } }",
    "{ holes { name } again: holes { __typename colour } }",
    "{ __typename one { __typename inner { __typename } } }",
    "{ one { a: name b: name inner { x: number } inner { y: number } } }",
    "query ($no: Boolean = false) { one { name @include(if: $no) count @skip(if: $no) } }",
    """{ one { ...F ... on Outer { count } } }
    fragment F on Outer { name inner { ...G } } fragment G on Inner { text }""",
    "{ many { name method inner { number } } }",
    "{ broken { name colour } }",
    "{ broken { name inner { number } } }",
    "{ broken { name inners { number } wrong } }",
    "{ one { doubled { number text } } }",
    "{ many { name doubled { number } } }",
    "{ many { name method doubled { number } } }",
    "{ many { three: doubled(by: 3) { number } four: doubled(by: 4) { number } } }",
    "query ($by: Int! = 5) { holes { doubled(by: $by) { number } } }",
    "query ($by: Int) { many { name doubled(by: $by) { number } } }",
    "query ($by: Int = 5) { many { name doubled(by: $by) { number } } }",
    "{ one { nothing } }",
]


def answer(query: str, executor: type[StrawberryGraphQLCoreExecutionContext]) -> Any:
    schema = strawberry.Schema(query=Query, execution_context_class=executor)
    result = asyncio.run(schema.execute(query, context_value={}))
    errors = [(error.message, error.path, error.locations) for error in result.errors or []]
    return result.data, sorted(errors, key=str)


@pytest.fixture(autouse=True)
def _forget() -> None:
    fetched.clear()
    resolved.clear()


@pytest.mark.parametrize("query", QUERIES)
def test_a_response_is_strawberrys(query: str) -> None:
    data, errors = answer(query, PlainFields)
    expected, expected_errors = answer(query, StrawberryGraphQLCoreExecutionContext)
    assert (data, errors) == (expected, expected_errors)
    assert str(data) == str(expected)  # in the same order


def test_plain_fields_are_left_to_no_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[str] = []
    execute_field = StrawberryGraphQLCoreExecutionContext.execute_field

    def count(self: Any, parent_type: Any, source: Any, details: Any, *others: Any) -> Any:
        executed.append(details[0].node.name.value)
        return execute_field(self, parent_type, source, details, *others)

    monkeypatch.setattr(StrawberryGraphQLCoreExecutionContext, "execute_field", count)
    answer("{ many { name colour inner { number } inners { text } doubled { number } } }", PlainFields)
    assert executed == ["many"]
    executed.clear()
    answer("{ many { name method } }", PlainFields)
    assert executed == ["many", "method", "method", "method"]


def test_a_list_is_fetched_at_once() -> None:
    answer("{ many { name doubled(by: 7) { text } } }", PlainFields)
    ((names, asked),) = fetched
    assert names == ["a", "b", "bad"]
    assert asked == Asked({}, {"by": 7}, frozenset({"text"}), in_query=True)
    assert not resolved


def test_beside_other_resolvers_nothing_waits_to_be_fetched() -> None:
    """Their requests and those of the field shall be under way together."""
    answer("{ many { method doubled { text } } }", PlainFields)
    assert resolved == ["a", "b", "bad"]


def test_an_event_of_a_subscription_leaves_nothing_behind() -> None:
    schema = strawberry.Schema(query=Query)._schema
    executor: Any = PlainFields.build(schema, parse("{ one { name } }"))
    event = executor.build_per_event_executor(None)
    assert event.execute_operation().data == {"one": {"name": "a"}}
    assert event._selections
    assert not executor._selections
    assert not executor._relevant_sub_fields
