"""What a request consumed, beside its answer: `extensions.consumed`."""

from collections.abc import Iterator

from strawberry.extensions import SchemaExtension

from core.storage.database import Meter, metered


class Consumption(SchemaExtension):
    """Adds what DynamoDB says that the operation consumed."""

    _meter: Meter

    def on_operation(self) -> Iterator[None]:
        """Measure the operation from end to end."""
        with metered() as self._meter:
            yield

    def get_results(self) -> dict[str, object]:
        """Give the figures."""
        return {
            "consumed": {
                "readUnits": self._meter.read_units,
                "writeUnits": self._meter.write_units,
                "requests": self._meter.requests,
            }
        }
