"""AppSync's schema directives: who may use a field or type, for every authorization mode.

AppSync refuses directives of a mode that an API has not enabled; `infra/api.tf` removes those.
"""

import strawberry
from strawberry.schema_directive import Location

_FIELD = [Location.FIELD_DEFINITION]


@strawberry.schema_directive(locations=_FIELD, name="aws_subscribe", print_definition=False)
class AwsSubscribe:
    """The mutations whose results are delivered to subscribers."""

    mutations: list[str]


@strawberry.schema_directive(locations=_FIELD, name="aws_iam", print_definition=False)
class AwsIam:
    """Allowed for requests that are signed with IAM."""


@strawberry.schema_directive(locations=_FIELD, name="aws_cognito_user_pools", print_definition=False)
class AwsCognitoUserPools:
    """Allowed for users of a Cognito user pool."""


@strawberry.schema_directive(locations=_FIELD, name="aws_oidc", print_definition=False)
class AwsOidc:
    """Allowed for users of an OpenID Connect issuer."""


IAM_ALONE = [AwsIam()]
SIGNED_IN = [AwsIam(), AwsCognitoUserPools(), AwsOidc()]
# `resolvers.schema` adds these to object types.
EVERYONE = ("aws_iam", "aws_api_key", "aws_cognito_user_pools", "aws_oidc")
