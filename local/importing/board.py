"""The board that an import's options describe: defined anew, or compared with the one that exists."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from core.domain.board import ComponentInput, define_board
from core.domain.model import Board, ScoreKind, ScorePolicy, SortOrder, TieBreak
from local.errors import StackError
from local.importing.fields import quoted

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """What an import says of its board; None is not said. Lists have one item a component, or one for all."""

    id: str
    score: Sequence[str]
    create: bool = False
    title: str | None = None
    kind: Sequence[ScoreKind] | None = None
    order: Sequence[SortOrder] | None = None
    decimals: Sequence[int] | None = None
    policy: ScorePolicy | None = None
    tie_break: TieBreak | None = None


def new_board(options: BoardOptions, now: datetime) -> Board:
    """Return a new board with the options, and the usual values of those that are not given.

    Raises:
        StackError: lists of different lengths.
        InvalidInput: naming the field and the rule that it breaks.
    """
    kinds = options.kind or [ScoreKind.INTEGER]
    orders = options.order or [SortOrder.DESCENDING]
    decimals: Sequence[int | None] = options.decimals or [None]
    lists = {"score": options.score, "kind": kinds, "order": orders, "decimals": decimals}
    size = max(map(len, lists.values()))
    for option, values in lists.items():
        if len(values) not in (1, size):
            raise StackError(f"--{option} has {len(values)} items for {size} components: give one, or {size}")
    names = list(options.score)
    if len(names) < size:  # one column with lists
        names = [f"{names[0]} {place}" for place in range(1, size + 1)]
    return define_board(
        id=options.id,
        title=options.title,
        components=[
            ComponentInput(name=name, kind=kind, order=order, decimals=places)
            for name, kind, order, places in zip(
                names, _each(kinds, size), _each(orders, size), _each(decimals, size), strict=True
            )
        ],
        policy=options.policy or ScorePolicy.BEST,
        tie_break=options.tie_break or TieBreak.EARLIEST,
        now=now,
    )


def check_board(board: Board, options: BoardOptions, now: datetime) -> None:
    """Check that an existing board is what the options say: the given ones, and with --create all of them.

    Raises:
        StackError: naming each difference.
    """
    found = _differences(board, options, now)
    if found:
        raise StackError(
            f"nothing was imported: board {board.id!r} exists and is not as the options say: "
            f"{'; '.join(found)}. Leave out --create and these options to use the board as it is"
        )


def _differences(board: Board, options: BoardOptions, now: datetime) -> list[str]:
    size = len(board.components)
    found: list[str] = []

    def compare(what: str, has: object, says: object) -> None:
        if has != says:
            found.append(f"{what} is {_shown(has)}, not {_shown(says)}")

    if options.create:
        wanted = new_board(options, now)
        if len(wanted.components) != size:
            return [f"it has {size} component(s), not {len(wanted.components)}"]
        for has, says in zip(board.components, wanted.components, strict=True):
            compare("the component's name", has.name, says.name)
            for name in ("kind", "order", "decimals"):
                compare(f"{name} of {has.name!r}", getattr(has, name), getattr(says, name))
        compare("policy", board.policy, wanted.policy)
        compare("tie-break", board.tie_break, wanted.tie_break)
    else:
        lists = {"kind": options.kind, "order": options.order, "decimals": options.decimals}
        for name, values in lists.items():
            if values is None:
                continue
            if len(values) not in (1, size):
                found.append(f"--{name} has {len(values)} items for its {size} component(s)")
                continue
            for has, says_value in zip(board.components, _each(values, size), strict=True):
                compare(f"{name} of {has.name!r}", getattr(has, name), says_value)
        for what, has_value, given in (
            ("policy", board.policy, options.policy),
            ("tie-break", board.tie_break, options.tie_break),
        ):
            if given is not None:
                compare(what, has_value, given)
    if options.title is not None:
        compare("title", board.title, options.title)
    return found


def _each(values: Sequence[T], size: int) -> list[T]:
    return list(values) * (size // len(values))


def _shown(value: object) -> str:
    return quoted(value) if type(value) is str else str(value)
