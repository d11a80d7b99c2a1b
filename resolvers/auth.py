"""Who calls, and what they may do."""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

import strawberry
from strawberry.extensions import FieldExtension

from core.errors import Unauthorized


class Role(Enum):
    """What a caller's key allows: PUBLIC reads, ADMIN does everything."""

    PUBLIC = "PUBLIC"
    ADMIN = "ADMIN"


class AdminOnly(FieldExtension):
    """Refuses a field to everyone but ADMIN, before its resolver runs."""

    async def resolve_async(
        self, next_: Callable[..., Awaitable[Any]], source: object, info: strawberry.Info, **kwargs: object
    ) -> object:
        """Resolve the field, or raise Unauthorized in AppSync's words."""
        if info.context.role is not Role.ADMIN:
            raise Unauthorized(
                f"Not Authorized to access {info.field_name} on type {info._raw_info.parent_type}"
            )
        return await next_(source, info, **kwargs)
