"""AppSync's schema directives. Who may use what is marked for every way to sign in that there is.

`infra/api.tf` takes out the marks of ways that an API has not enabled, which AppSync would refuse.
"""

import strawberry
from strawberry.schema_directive import Location

_FIELD = [Location.FIELD_DEFINITION]


@strawberry.schema_directive(locations=_FIELD, name="aws_subscribe", print_definition=False)
class AwsSubscribe:
    """The mutations whose results reach the subscribers."""

    mutations: list[str]


@strawberry.schema_directive(locations=_FIELD, name="aws_iam", print_definition=False)
class AwsIam:
    """For those who sign with IAM."""


@strawberry.schema_directive(locations=_FIELD, name="aws_cognito_user_pools", print_definition=False)
class AwsCognitoUserPools:
    """For users of a Cognito user pool."""


@strawberry.schema_directive(locations=_FIELD, name="aws_oidc", print_definition=False)
class AwsOidc:
    """For users of an OpenID Connect issuer."""


IAM_ALONE = [AwsIam()]
SIGNED_IN = [AwsIam(), AwsCognitoUserPools(), AwsOidc()]
# Of object types, as `resolvers.schema` prints them.
EVERYONE = ("aws_iam", "aws_api_key", "aws_cognito_user_pools", "aws_oidc")
