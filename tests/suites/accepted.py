"""What is known of the suites: data, with a reason each.

An entry that is no longer true is a failure.
"""

from __future__ import annotations

import sys

from tests.suites.compare import Accepted

VERSION = sys.version_info[:2]

_CPYTHON = "test.test_asyncio"

NOT_RUN = {
    f"{_CPYTHON}.test_windows_events": "Windows has other loops, and this library none.",
    f"{_CPYTHON}.test_windows_utils": "It is about Windows alone.",
    "test_dns": "It asks for the addresses of hosts outside, and no connection is made.",
    "test_sourcecode": "It checks how uvloop's own source is written.",
}

CONNECTING = {
    *(
        f"{_CPYTHON}.test_{name}"
        for name in ("buffered_proto", "events", "sendfile", "ssl", "sslproto", "streams")
    ),
    *("test_sockets", "test_tcp", "test_unix"),
}
"""The modules whose tests make connections by a loop: some must have a transport of ours."""

ACCEPTED = (
    Accepted(
        "It looks for `ssl` in the name of the transport's class, and ours is called Transport.",
        (
            *(
                f"{_CPYTHON}.test_events.{selector}EventLoopTests.test_create_ssl_{kind}connection"
                for selector in ("EPoll", "Poll", "Select")
                for kind in ("", "unix_")
            ),
            "test_tcp.Test_AIO_TCPSSL.test_ssl_connect_accepted_socket",
            "test_tcp.Test_UV_TCPSSL.test_ssl_connect_accepted_socket",
        ),
    ),
    Accepted(
        "It reaches through a private attribute of the loop's own transport.",
        (
            f"{_CPYTHON}.test_ssl.TestSSL.test_flush_before_shutdown",
            f"{_CPYTHON}.test_ssl.TestSSL.test_remote_shutdown_receives_trailing_data",
            "test_tcp.Test_UV_TCP.test_transport_get_extra_info",
            "test_tcp.Test_UV_TCPSSL.test_remote_shutdown_receives_trailing_data",
        ),
    ),
    Accepted(
        "It replaces a private method of asyncio's loop by one that makes no protocol: there is"
        " nothing to make a transport for.",
        (
            f"{_CPYTHON}.test_base_events.BaseEventLoopWithSelectorTests"
            ".test_create_connection_ssl_server_hostname_default",
        ),
    ),
    Accepted(
        "uvloop's transport has no socket to show once it was aborted; ours shows the closed one,"
        " as asyncio's does.",
        ("test_tcp.Test_UV_TCP.test_tcp_handle_abort_in_connection_made",),
    ),
)
