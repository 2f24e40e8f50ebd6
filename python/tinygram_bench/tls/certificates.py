"""A certificate for one stage of runs: made without a network, and trusted only by its client."""

from __future__ import annotations

import datetime

from tinygram_bench.model.value import Value

SERVER_NAME = "tinygram"
"""The name in the certificate, which clients check."""
_FROM = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)
"""A certificate is for one stage and client, and never expires: another host's clock may differ."""


class Identity(Value, frozen=True):
    """A server's certificate, which signs itself, and its key: both PEM."""

    certificate: str
    key: str


ELSEWHERE = Identity("", "")
"""In an order to another host: that host makes its own identity, and the key never leaves it."""


def new_identity() -> Identity:
    """A certificate, which never expires, with a new key (ECDSA, P-256). Raises ImportError."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(SERVER_NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Identity(
        certificate=certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
    )
