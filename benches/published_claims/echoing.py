"""The claims on echo servers."""

from __future__ import annotations

from published_claims.evidence import Asked, Claims, Ratio

COMMANDS = {
    "threads": "echo --awake --published --faulty whole-buffer --only implementation=stdlib,"
    "server=protocol,server=recv,server=recv_into,server=recvmsg_into",
    "loops": "echo --awake --published --buffer 64KiB --only implementation=stdlib,"
    "runtime=asyncio,runtime=uvloop",
}
_THROUGHPUT = "throughput_per_s"
_CPU = "cpu_s_per_million"
_BUFFERS_BEYOND_64_KIB = ("64KiB", "128KiB", "256KiB")


def _case(runtime: str, server: str, size_bytes: int) -> str:
    return f"echo/{runtime}/stdlib/{server}/nodelay/loopback/{size_bytes}B/*"


def _beside_uvloop(server: str, size_bytes: int, figure: str = _THROUGHPUT) -> Asked:
    uvloop = _case("uvloop", "protocol", size_bytes)
    return Ratio("threads", figure, _case("threads", server, size_bytes), uvloop)


def _beside_threads(server: str, other: str, size_bytes: int, figure: str = _THROUGHPUT) -> Asked:
    cases = (_case("threads", each, size_bytes) for each in (server, other))
    return Ratio("threads", figure, *cases)


CLAIMS: Claims = {
    "E1. Threads echo 3.3 times as many messages of 1,000 B as uvloop": (
        _beside_uvloop("recvmsg_into:4KiB", 1_000),
        _beside_uvloop("recvmsg_into:4KiB:whole-buffer", 1_000),
    ),
    "E2. At 65,536 B they echo 2.6 times as many": tuple(
        _beside_uvloop(f"recvmsg_into:{each}", 65_536, figure)
        for figure in (_THROUGHPUT, _CPU)
        for each in _BUFFERS_BEYOND_64_KIB
    ),
    "E3. At 4,096 B a larger buffer makes threads faster: 16 KiB 3.4 times 4 KiB": (
        _beside_threads("recvmsg_into:16KiB", "recvmsg_into:4KiB", 4_096),
        _beside_threads("recvmsg_into:16KiB:whole-buffer", "recvmsg_into:4KiB:whole-buffer", 4_096),
    ),
    "E4. Receiving into a buffer made beforehand is what matters": (
        *(
            _beside_threads(f"{server}:{buffer}", f"recv:{buffer}", size)
            for buffer in ("16KiB", "256KiB")
            for size in (1_000, 4_096)
            for server in ("recv_into", "recvmsg_into")
        ),
        *(
            _beside_threads(f"{server}:256KiB", "recv:256KiB", 65_536, _CPU)
            for server in ("recv_into", "recvmsg_into")
        ),
    ),
    "E5. On its second machine uvloop is slower than asyncio": tuple(
        Ratio(
            "loops",
            _THROUGHPUT,
            _case("uvloop", "protocol", each),
            _case("asyncio", "protocol", each),
        )
        for each in (1_000, 4_096, 65_536)
    ),
}
