"""A certificate that signs itself, made by openssl when it is needed, and what trusts it."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """For 127.0.0.1 and localhost, in PEM."""

    chain: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        """What a server shows."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.chain, self.key)
        return context

    def client_context(self) -> ssl.SSLContext:
        """What a client trusts: this certificate alone, host name checked."""
        return ssl.create_default_context(cafile=str(self.chain))


def make_certificate(folder: Path) -> Certificate:
    """Make one in `folder`; CalledProcessError when openssl refuses."""
    made = Certificate(folder / "chain.pem", folder / "key.pem")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-days", "2", "-subj", "/CN=localhost"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-out", made.chain, "-keyout", made.key),
        ],
        check=True,
        capture_output=True,
        timeout=30,
    )
    return made
