"""The DynamoDB capacity of a request: what a query may consume, and what it has, in `extensions.consumed`."""

from collections.abc import Iterator

from strawberry.extensions import SchemaExtension
from strawberry.types.graphql import OperationType

from core.storage.database import Budget, Meter, metered
from resolvers.request.auth import Role
from resolvers.request.workers import sharing_workers

# A page of 1,000 entries with ranks takes some 50 units. An operator may rank by the index, deep in a board.
CLIENT_BUDGET = Budget(units=1_000, requests=1_000)
OPERATOR_BUDGET = Budget(units=100_000, requests=100_000)


def budget_of(role: Role) -> Budget:
    """Return what one query of a caller may consume."""
    return OPERATOR_BUDGET if role is Role.ADMIN else CLIENT_BUDGET


class Consumption(SchemaExtension):
    """Ends a query at its budget, and shows operators the units and requests that DynamoDB reports.

    Others could tell from the figures whether something that is hidden from them exists.
    """

    _meter: Meter

    def on_operation(self) -> Iterator[None]:
        """Measure the operation from end to end."""
        with metered() as self._meter, sharing_workers():
            yield

    def on_execute(self) -> Iterator[None]:
        """Set the budget of a query. A mutation has none: it must not end between two writes."""
        if self.execution_context.operation_type is OperationType.QUERY:
            self._meter.budget = budget_of(self._role)
        yield

    def get_results(self) -> dict[str, object]:
        """Return the figures."""
        if self._role is not Role.ADMIN:
            return {}
        return {
            "consumed": {
                "readUnits": self._meter.read_units,
                "writeUnits": self._meter.write_units,
                "requests": self._meter.requests,
            }
        }

    @property
    def _role(self) -> Role:
        role: Role = self.execution_context.context.caller.role
        return role
