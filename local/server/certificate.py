"""A self-signed certificate for localhost, kept in the data folder."""

import os
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAYS = 365
_RENEWED_BEFORE = timedelta(days=7)
_ADDRESSES = ("127.0.0.1", "::1")


def local_certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of the folder's certificate and key; make them if missing or about to expire."""
    certificate, key = folder / "tls-cert.pem", folder / "tls-key.pem"
    if not key.exists() or not _is_valid(certificate):
        folder.mkdir(parents=True, exist_ok=True)
        _make(certificate, key)
    return certificate, key


def _is_valid(certificate: Path) -> bool:
    try:
        ends = x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    except (OSError, ValueError):
        return False
    return ends - _RENEWED_BEFORE > datetime.now(UTC)


def _make(certificate: Path, key: Path) -> None:
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    addresses = [x509.IPAddress(ip_address(address)) for address in _ADDRESSES]
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(secret.public_key()), critical=False)
        .sign(secret, hashes.SHA256())
    )
    encoded = secret.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(key, encoded)
    _write(certificate, signed.public_bytes(serialization.Encoding.PEM))


def _write(path: Path, content: bytes) -> None:
    """Replace a file by one that only its owner can read."""
    fresh = path.with_name(path.name + ".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    fresh.replace(path)
