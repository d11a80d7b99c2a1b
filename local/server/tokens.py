"""Participants' tokens: JWTs that the local stack signs and verifies with its own secret.

On AWS, a Cognito user pool or another trusted issuer makes them.
"""

import contextlib
import os
import secrets
import tempfile
import time
from pathlib import Path

import jwt

_SECRET = "token-secret"  # noqa: S105 - the file's name
_ALGORITHM = "HS256"
_ISSUER = "leaderboard-local"
_AUDIENCE = "leaderboard"


def read_secret(folder: Path) -> str:
    """Return the data folder's secret; create it on first use, in a file that only its owner can read."""
    path = folder / _SECRET
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder) as file:  # mode 600
            file.write(secrets.token_hex(32))
            file.flush()
            with contextlib.suppress(FileExistsError):  # another process created it meanwhile
                os.link(file.name, path)
    return path.read_text()


def mint(secret: str, participant_id: str, lifetime_seconds: float) -> str:
    """Return a token that identifies its bearer as the participant."""
    now = time.time()
    claims = {
        "iss": _ISSUER,
        "aud": _AUDIENCE,
        "sub": participant_id,
        "iat": int(now),
        "exp": int(now + lifetime_seconds),
    }
    return jwt.encode(claims, secret, _ALGORITHM)


def read(secret: str, token: str) -> str:
    """Return the id of the participant whom a token identifies.

    Raises:
        ValueError: the token is malformed, expired, or not signed with this secret.
    """
    try:
        claims = jwt.decode(
            token,
            secret,
            algorithms=[_ALGORITHM],
            issuer=_ISSUER,
            audience=_AUDIENCE,
            options={"require": ["exp", "sub"]},
        )
    except jwt.InvalidTokenError as error:
        raise ValueError(str(error)) from error
    participant_id: str = claims["sub"]
    return participant_id
