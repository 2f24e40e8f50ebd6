"""What both ends agree on: TLS 1.3, one cipher, the certificate of the run, and nothing after."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

import pytest
from cryptography import x509

from tinygram_bench.tls.certificates import SERVER_NAME, new_identity
from tinygram_bench.tls.contexts import (
    CIPHER,
    MOST_RECORD_BYTES,
    CipherError,
    check_agreed,
    client_context,
    server_context,
)
from tinygram_bench.tls.records import RECORD_OVERHEAD_BYTES, Records

OURS = new_identity()


class Pair:
    """A client and a server in memory, joined."""

    def __init__(
        self, client: ssl.SSLContext, server: ssl.SSLContext, name: str = SERVER_NAME
    ) -> None:
        self.to_server, self.to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.client = client.wrap_bio(self.to_client, self.to_server, server_hostname=name)
        self.server = server.wrap_bio(self.to_server, self.to_client, server_side=True)

    def shake_hands(self) -> None:
        waiting = [self.client, self.server]
        while waiting:
            end = waiting.pop(0)
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                waiting.append(end)


def test_both_ends_agree_on_what_is_measured() -> None:
    pair = Pair(client_context(OURS.certificate), server_context(OURS))
    pair.shake_hands()
    for end in (pair.client, pair.server):
        check_agreed(end)
        assert end.version() == "TLSv1.3"
        agreed = end.cipher()
        assert agreed is not None
        assert agreed[0] == CIPHER


@pytest.mark.parametrize("year", [2001, 2400])
def test_a_certificate_is_good_by_the_clock_of_any_host(year: int) -> None:
    certificate = x509.load_pem_x509_certificate(OURS.certificate.encode())
    then = datetime(year, 1, 1, tzinfo=UTC)
    assert certificate.not_valid_before_utc < then < certificate.not_valid_after_utc


def test_another_cipher_is_refused_by_name() -> None:
    older = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    older.load_verify_locations(cadata=OURS.certificate)
    server = server_context(OURS)
    server.minimum_version = ssl.TLSVersion.TLSv1_2
    pair = Pair(older, server)
    pair.shake_hands()
    with pytest.raises(CipherError, match=r"TLSv1\.2.*TLSv1\.3 with TLS_AES_256_GCM_SHA384"):
        check_agreed(pair.client)


def test_a_client_of_tls_1_2_finds_no_common_version() -> None:
    older = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        Pair(older, server_context(OURS)).shake_hands()


@pytest.mark.parametrize(
    ("trusted", "name", "fault"),
    [
        (new_identity().certificate, SERVER_NAME, "self-signed certificate"),
        (OURS.certificate, "elsewhere", "Hostname mismatch"),
    ],
)
def test_a_certificate_that_is_not_the_runs_fails_by_name(
    trusted: str, name: str, fault: str
) -> None:
    pair = Pair(client_context(trusted), server_context(OURS), name)
    with pytest.raises(ssl.SSLCertVerificationError, match=fault):
        pair.shake_hands()


def test_nothing_flows_back_after_the_handshake() -> None:
    pair = Pair(client_context(OURS.certificate), server_context(OURS))
    pair.shake_hands()
    pair.client.write(b"message")
    assert pair.server.read() == b"message"
    assert pair.to_client.pending == 0


@pytest.mark.parametrize("length", [1, 100, MOST_RECORD_BYTES, MOST_RECORD_BYTES + 1])
def test_a_record_takes_22_bytes_more_than_its_plaintext(length: int) -> None:
    pair = Pair(client_context(OURS.certificate), server_context(OURS))
    pair.shake_hands()
    pair.client.write(bytes(length))
    written = pair.to_server.read()
    records = Records()
    records.push(written)
    assert records.count == (1 if length <= MOST_RECORD_BYTES else 2)
    assert len(written) == length + RECORD_OVERHEAD_BYTES * records.count
