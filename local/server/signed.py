"""Credentials of the local stack: API keys, tokens, and requests signed with IAM."""

import re
from collections.abc import Mapping
from typing import Any

from resolvers.request.auth import Caller, Credentials, NotAuthenticated, Role

_ALGORITHM = "AWS4-HMAC-SHA256"
# Key id, date, region and service; https://docs.aws.amazon.com/IAM/latest/UserGuide/signing-elements.html
_SIGNED = re.compile(
    rf"{_ALGORITHM} Credential=(\w+)/\d{{8}}/[\w-]+/[\w-]+/aws4_request, ?"
    r"SignedHeaders=[\w;-]+, ?Signature=[0-9a-f]{64}",
    re.ASCII,
)


class LocalCredentials(Credentials):
    """Takes a request signed with any AWS credentials for ADMIN, as the signer's role would be on AWS.

    The secret of the credentials is unknown here, so the signature is not checked. That is safe on the
    loopback interface alone, where the API keys are no secrets either.
    """

    def caller(self, headers: Mapping[str, Any]) -> Caller:
        """Return the caller; a signer's name is the access key id.

        Raises:
            NotAuthenticated: no key, token or signature is there, or the one given is not valid.
        """
        authorization = headers.get("authorization")
        if "x-api-key" in headers or not str(authorization).startswith(_ALGORITHM):
            return Credentials.caller(self, headers)
        signed = _SIGNED.fullmatch(str(authorization))
        if signed is None:
            raise NotAuthenticated("The request signature is malformed.")
        return Caller(Role.ADMIN, name=signed[1])
