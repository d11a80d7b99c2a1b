"""Participants' tokens: JWTs that the local stack signs and reads with a secret of its own.

On AWS they come from the Cognito user pool or the issuer that the stack trusts.
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
    """Give the secret of a data folder, made when first asked for; only its owner may read the file."""
    path = folder / _SECRET
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder) as file:  # of mode 600
            file.write(secrets.token_hex(32))
            file.flush()
            with contextlib.suppress(FileExistsError):  # another command was faster
                os.link(file.name, path)
    return path.read_text()


def mint(secret: str, participant_id: str, lasts_seconds: float) -> str:
    """Make a token with which its bearer is a participant, for so long."""
    now = time.time()
    claims = {
        "iss": _ISSUER,
        "aud": _AUDIENCE,
        "sub": participant_id,
        "iat": int(now),
        "exp": int(now + lasts_seconds),
    }
    return jwt.encode(claims, secret, _ALGORITHM)


def read(secret: str, token: str) -> str:
    """Give the participant that a token is for.

    Raises:
        ValueError: it is none of ours, it was changed, or its time is over.
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
