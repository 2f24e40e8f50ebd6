"""`tinygram serve` without a subcommand: the far end of another host's measurements."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import sys
from contextlib import suppress
from typing import Annotated

import typer

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import between, duration_between_ns
from tinygram_bench.cli.exit_codes import ExitCode
from tinygram_bench.far.limits import Limits
from tinygram_bench.far.rights import give_up_root
from tinygram_bench.far.server import Server
from tinygram_bench.host.descriptors import raise_descriptor_limit
from tinygram_bench.host.network.connections import tcp_socket
from tinygram_bench.host.write_counter import counting
from tinygram_bench.hosts import keys
from tinygram_bench.hosts.wire import PORT
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.units import format_bit_rate, format_bytes, format_duration_ns

_LOCALHOST = "127.0.0.1"
_TIME_NS = 4 * 3_600 * 10**9
_LONGEST_NS = 7 * 24 * 3_600 * 10**9
_PROCESSES = 256
_MEMORY_BYTES = 8 << 30
_LEAST_MEMORY_BYTES = 512 << 20
_MOST_MEMORY_BYTES = 1 << 40
_CONNECTIONS = 500_000
_BYTES = 16 << 40
_MOST_BYTES = 1 << 60
_BITS_PER_S = 100 * 10**9
_MOST_BITS_PER_S = 10**13
_CLIENTS = 8
_BACKLOG = 32


def serve_hosts(
    context: typer.Context,
    bind: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="IPv4 or IPv6 address to listen on; `::` is all of both kinds. Beyond loopback, "
            "clients need a key: --new-key.",
        ),
    ] = _LOCALHOST,
    port: Annotated[
        int, quantities.count("Port to listen on; 0 lets the kernel pick one.", str(PORT))
    ] = PORT,
    new_key: Annotated[
        bool,
        typer.Option(
            "--new-key",
            help="Make new keys for this server and its client, print the line to paste on the "
            "client, and exit. Earlier keys are no longer accepted.",
        ),
    ] = False,
    max_time: Annotated[
        int,
        quantities.duration("How long a client is served at most.", format_duration_ns(_TIME_NS)),
    ] = _TIME_NS,
    max_processes: Annotated[
        int,
        quantities.count(
            "Most processes of a client at a time; a sender of the runtime `processes` has another "
            "one beside it.",
            str(_PROCESSES),
        ),
    ] = _PROCESSES,
    max_memory: Annotated[
        int,
        quantities.size(
            "Most memory of these processes together, with the files that they leave in it for the "
            "client; each process, and each file, may have half of it.",
            format_bytes(_MEMORY_BYTES),
            _MOST_MEMORY_BYTES,
        ),
    ] = _MEMORY_BYTES,
    max_connections: Annotated[
        int,
        quantities.count("Most connections of these processes together.", str(_CONNECTIONS)),
    ] = _CONNECTIONS,
    max_bytes: Annotated[
        int,
        quantities.size(
            "Most bytes that this host receives, or sends, while it serves a client.",
            format_bytes(_BYTES),
            _MOST_BYTES,
        ),
    ] = _BYTES,
    max_rate: Annotated[
        int,
        quantities.bandwidth(
            "Highest rate at which it does so, over 5 s.", format_bit_rate(_BITS_PER_S)
        ),
    ] = _BITS_PER_S,
    max_clients: Annotated[
        int, quantities.count("Most clients that wait while another is served.", str(_CLIENTS))
    ] = _CLIENTS,
) -> ExitCode | None:
    """The far end of measurements between two hosts, for `--server` on the other one.

    Without a subcommand it serves `tinygram stream`, `rr`, `echo`, `sizes` and `fanout` of another
    host, one client at a time, until Ctrl-C. With one it is a native server alone, on 127.0.0.1.
    """
    if context.invoked_subcommand is not None:
        return None
    if new_key:
        return _make_keys()
    limits = Limits(
        time_s=duration_between_ns("--max-time", max_time, 10**9, _LONGEST_NS) / 1e9,
        processes=between("--max-processes", max_processes, 2, 10_000),
        memory_bytes=between("--max-memory", max_memory, _LEAST_MEMORY_BYTES, _MOST_MEMORY_BYTES),
        connections=between("--max-connections", max_connections, 1, 1_000_000),
        bytes=between("--max-bytes", max_bytes, 1 << 20, _MOST_BYTES),
        rate_bytes_per_s=between("--max-rate", max_rate, 10**6, _MOST_BITS_PER_S) / 8,
        clients=between("--max-clients", max_clients, 1, 1_000),
    )
    raise_descriptor_limit()  # Each process of a client takes some.
    host = _address(bind)
    known = keys.server_keys()
    if known is None and not host.is_loopback:
        raise UsageError(
            f"--bind {bind} is not loopback, and this server has no key: make one with "
            "`tinygram serve --new-key`, and paste the line that it prints on the client"
        )
    with _listener(str(host), between("--port", port, 0, (1 << 16) - 1)) as listener:
        kept = give_up_root()
        if kept is not None:
            print(
                f"tinygram: runs as root without its capabilities: {kept}; install tinygram where "
                "everybody may read it, or start the server as an ordinary user",
                file=sys.stderr,
            )
        print(f"listening {listener.getsockname()[1]}", flush=True)
        return _serve(listener, limits, known)


def _serve(listener: socket.socket, limits: Limits, known: keys.Keys | None) -> ExitCode:
    """Serve until Ctrl-C or SIGTERM; returns the status."""

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None, "this is one"
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        with counting() as library:
            await Server(limits, known, library).run(listener)

    with suppress(asyncio.CancelledError):
        asyncio.run(run())
    return ExitCode.INTERRUPTED


def _make_keys() -> ExitCode:
    server, client = keys.make_keys()
    file = keys.keep_server_keys(server)
    print(keys.line_to_paste(client))
    print(
        f"tinygram: the server's key is in {file}; paste the line above into a shell of the "
        "client, and keep it secret: who has it may measure against this server",
        file=sys.stderr,
    )
    return ExitCode.OK


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise UsageError(
            f"--bind {text!r} is not an IP address of this host, such as 192.0.2.7 or 2001:db8::7"
        ) from error
    if isinstance(address, ipaddress.IPv6Address) and address.is_link_local:
        raise UsageError(
            f"--bind {text} is an address of one link alone: name another address of this host, "
            "or `::` for all"
        )
    return address


def _listener(host: str, port: int) -> socket.socket:
    sock = tcp_socket(host)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    try:
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror}; name an address of this host "
            "with --bind, and a port that is free with --port"
        ) from error
    return sock
