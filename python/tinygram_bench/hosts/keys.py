"""Keys of two hosts, pinned at each other: mutual TLS 1.3 without a certificate authority.

`tinygram serve --new-key` makes a certificate for the server and one for the client, each signed
by itself. The server keeps its own key, and the client's certificate; the client gets, in one line,
its own key and the server's certificate. Each trusts the other's certificate and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkstemp

import msgspec

from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.plain_text import printable
from tinygram_bench.model.value import Value

_PREFIX = "tinygram-key-1:"
_FROM, _UNTIL = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
"""Keys are pinned and do not expire: the clock of a host may be wrong."""
_MAX_KEY_BYTES = 1 << 14


class Keys(Value, frozen=True):
    """One side's keys: its private key (PKCS 8) and certificate, and the other side's certificate.

    All in DER.
    """

    own_key: bytes
    own_certificate: bytes
    other_certificate: bytes

    def context(self, *, is_server: bool) -> ssl.SSLContext:
        """A context for TLS 1.3 with these keys, only with the other side."""
        side = ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT
        context = ssl.SSLContext(side)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # The certificate itself is known.
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=self.other_certificate)
        with _in_memory(_pem("PRIVATE KEY", self.own_key)) as key_file:
            certificate = ssl.DER_cert_to_PEM_cert(self.own_certificate)
            with _in_memory(certificate) as certificate_file:
                context.load_cert_chain(certificate_file, key_file)
        return context

    def is_other(self, certificate: bytes | None) -> bool:
        """Whether a certificate (DER) is the other side's."""
        return certificate is not None and hmac.compare_digest(certificate, self.other_certificate)


def name_of(certificate: bytes) -> str:
    """A certificate's short name, which the greeting has."""
    return hashlib.sha256(certificate).hexdigest()[:16]


def make_keys() -> tuple[Keys, Keys]:
    """New keys of a server, and of its client. Raises UsageError without `cryptography`."""
    server_key, server = _signed_by_itself("tinygram server")
    client_key, client = _signed_by_itself("tinygram client")
    return Keys(server_key, server, client), Keys(client_key, client, server)


def keep_server_keys(keys: Keys) -> Path:
    """Write keys where `tinygram serve` finds them; return the file. Raises UsageError."""
    return _written(_folder() / "serve-key", keys)


def server_keys() -> Keys | None:
    """The server's keys that were made last here; None: there are none. Raises UsageError."""
    return _read(_folder() / "serve-key")


def client_keys(server_name: str) -> Keys | None:
    """The client's keys for the server of that name; None: there are none. Raises UsageError."""
    return _read(_folder() / "servers" / server_name)


def keep_answering(server: str, key_name: str) -> None:
    """Keep the key that `server` (HOST:PORT, as it was named) has shown, if none is kept yet.

    Another key there is refused from then on, as ssh(1) does with keys of hosts: the line that was
    pasted says which key to trust, and not where. Raises UsageError.
    """
    file = _folder() / "answering" / server
    try:
        kept = file.read_text(errors="replace").strip()
    except FileNotFoundError:
        try:
            _write(file, key_name)
        except UsageError as error:
            raise UsageError(
                f"{error}: which key answers at {server} is kept there; make the folder writable, "
                f"or write {key_name} into that file"
            ) from error
        return
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error
    if kept != key_name:
        raise UsageError(
            f"{server} answers with another key ({key_name}) than before ({printable(kept[:32])}): "
            "if `tinygram serve --new-key` was run there since, or another of your hosts has that "
            f"address now, remove {file} and measure again; else somebody answers in its place"
        )


def line_to_paste(keys: Keys) -> str:
    """The line for the client's shell that puts the client's `keys` in their place."""
    folder = '"${XDG_CONFIG_HOME:-$HOME/.config}/tinygram/servers"'
    name = name_of(keys.other_certificate)
    return f"(umask 077 && mkdir -p {folder} && echo '{_text(keys)}' > {folder}/{name})"


def _folder() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "tinygram"


def _text(keys: Keys) -> str:
    return _PREFIX + base64.b64encode(msgspec.msgpack.encode(keys)).decode()


def _written(file: Path, keys: Keys) -> Path:
    _write(file, _text(keys))
    return file


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all, readable only by this user. Raises UsageError."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd, fresh = mkstemp(prefix=f"{file.name}.", dir=file.parent)
        try:
            with open(fd, "w") as out:
                out.write(text + "\n")
            os.replace(fresh, file)
        except BaseException:
            os.unlink(fresh)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error


def _read(file: Path) -> Keys | None:
    try:
        with file.open("rb") as opened:
            text = opened.read(_MAX_KEY_BYTES).decode(errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read the key in {file}: {error.strerror or error}") from error
    try:
        if not text.startswith(_PREFIX):
            raise ValueError("no key of this version")
        keys = msgspec.msgpack.decode(
            base64.b64decode(text[len(_PREFIX) :], validate=True), type=Keys
        )
        keys.context(is_server=True)  # TLS reads keys in the same way on both sides.
        return keys
    except (ValueError, ssl.SSLError) as error:
        raise UsageError(
            f"{file} holds no key ({error}): make one with `tinygram serve --new-key` on the "
            "server, and paste the line that it prints on the client"
        ) from error


def _signed_by_itself(name: str) -> tuple[bytes, bytes]:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError as error:
        raise UsageError(
            "--new-key needs the Python package 'cryptography': pip install 'tinygram[hosts]'; "
            "only the host that makes the keys needs it"
        ) from error
    key = ed25519.Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .sign(key, None)
    )
    private = key.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private, certificate.public_bytes(serialization.Encoding.DER)


def _pem(kind: str, der: bytes) -> str:
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN {kind}-----\n{text}-----END {kind}-----\n"


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """A file in memory, because the ssl module reads keys only from files."""
    fd = os.memfd_create("tinygram-key")
    try:
        os.write(fd, text.encode())
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)
