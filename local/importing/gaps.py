"""Gaps to the leader, such as +5.856, added to the leader's time. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

from core.domain.errors import InvalidScore
from core.domain.model import Component
from core.domain.scores import MAX_DIGITS, format_value, parse
from local.importing.fields import refuse

_UNBOUNDED = 10**MAX_DIGITS


@dataclass(slots=True)
class _Race:
    """What the rows so far say of one race: how many times, the first of them, and the last gap."""

    times: int = 0
    leader: int = 0
    gap: int = 0


class Gaps:
    """Adds gaps up, row by row in the file's order.

    A gap belongs to the one time above it in its race, which is the leader's. Where that is unclear the row
    is refused: without a time above it, with several, or if gaps fall, which those to the leader never do.
    """

    def __init__(self) -> None:
        self._races: dict[Hashable, _Race] = {}

    def note_time(self, component: Component, race: Hashable, text: str) -> None:
        """Note a time, which may be the leader's. One that cannot be read counts as well."""
        found = self._races.setdefault((component.name, race), _Race())
        found.times += 1
        try:
            time = _parse(component, text)
        except InvalidScore:
            found.times += 1
            return
        if found.times == 1:
            found.leader = time

    def add(self, component: Component, race: Hashable, text: str) -> str:
        """Return the time of a gap, which is a text with + in front.

        Raises:
            FieldError: the gap cannot be read, or it is unclear whose time to add it to.
        """
        found = self._races.setdefault((component.name, race), _Race())
        try:
            gap = _parse(component, text.removeprefix("+"))
        except InvalidScore as error:
            field, _, rule = str(error).partition(": ")
            refuse(field, rule)
        if found.times == 0:
            refuse(component.name, f"{text} is a gap, but no leader's time is above it")
        if found.times > 1:
            refuse(
                component.name,
                f"{text} is a gap, but several times are above it; --gaps-by COL names the column that tells "
                "races apart",
            )
        if gap < found.gap:
            refuse(component.name, f"{text} is less than the gap above it, so it is none to the leader")
        found.gap = gap
        return format_value(component, found.leader + gap)


def _parse(component: Component, text: str) -> int:
    return parse(replace(component, low=-_UNBOUNDED, high=_UNBOUNDED), text)
