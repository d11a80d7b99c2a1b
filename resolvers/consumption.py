"""The DynamoDB capacity that a request consumed, in `extensions.consumed`."""

from collections.abc import Iterator

from strawberry.extensions import SchemaExtension

from core.storage.database import Meter, metered


class Consumption(SchemaExtension):
    """Adds the units and requests that DynamoDB reports for the operation."""

    _meter: Meter

    def on_operation(self) -> Iterator[None]:
        """Measure the operation from end to end."""
        with metered() as self._meter:
            yield

    def get_results(self) -> dict[str, object]:
        """Return the figures."""
        return {
            "consumed": {
                "readUnits": self._meter.read_units,
                "writeUnits": self._meter.write_units,
                "requests": self._meter.requests,
            }
        }
