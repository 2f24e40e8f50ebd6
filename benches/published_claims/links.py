"""The claims that need a network, over emulated links."""

from __future__ import annotations

from published_claims.evidence import Claims, Ratio, Value

_WAYS = "--only loop/nagle,loop/nodelay,loop/coalesce:10us,loop/tinygram/adaptive"
COMMANDS = {
    "paced-links": "stream --awake --link loopback --link rtt=1ms,bandwidth=1gbit "
    f"--link rtt=5ms,bandwidth=1gbit --rate 5000 --size 100 --duration 1s {_WAYS}",
    "tiny": f"stream --link loopback --link lan-1g --duration 1s --size 20 {_WAYS},native/nodelay",
    "suffice": "sizes --no-local --sizes 10kB,100kB --round-trips 1,2 --samples 100 "
    "--link lan-1g --link lan-100m",
    "joined-links": "sizes --samples 100 --no-local --round-trips 1 --setup-writes 2 "
    "--setup-writes 1 --strategy nodelay --strategy nagle --sizes 1,100,1kB,10kB "
    "--link lan-1g --link wifi",
}
_ONE_MS = "rtt=1ms,bandwidth=1gbit"
_FIVE_MS = "rtt=5ms,bandwidth=1gbit"
_THROUGHPUT = "throughput_per_s"
_PER_MILLION = 1e-6
_LINE_MB_PER_S = {"lan-100m": 100 / 8, "lan-1g": 1000 / 8}


def _loop(strategy: str, link: str) -> str:
    return f"stream/loop/stdlib/{strategy}/{link}/*"


def _tiny(way: str, link: str) -> Value:
    return Value("tiny", _THROUGHPUT, f"stream/{way}/{link}/*", _PER_MILLION)


def _joined(link: str, size_bytes: int, setup_writes: int) -> Value:
    writes = "1-setup-write" if setup_writes == 1 else f"{setup_writes}-setup-writes"
    case = f"sizes/native/tinygram/nagle/{link}/{size_bytes}B/1-round-trip/{writes}"
    return Value("joined-links", "total_p50_us", case)


CLAIMS: Claims = {
    "N1. Nagle costs what an acknowledgement takes": (
        *(
            each
            for link in (_ONE_MS, _FIVE_MS)
            for each in (
                Ratio(
                    "paced-links", "latency_p50_us", _loop("nagle", link), _loop("nodelay", link)
                ),
                Value("paced-links", "latency_p50_us", _loop("nagle", link)),
                Value("paced-links", "latency_p50_us", _loop("nodelay", link)),
                Value("paced-links", "messages_per_segment", _loop("nagle", link)),
            )
        ),
        Ratio(
            "paced-links",
            "latency_p50_us",
            _loop("nagle", "loopback"),
            _loop("nodelay", "loopback"),
        ),
    ),
    "N2. You can't send millions of tiny messages": (
        _tiny("loop/tinygram/adaptive", "lan-1g"),
        *(_tiny(f"loop/stdlib/{each}", "lan-1g") for each in ("coalesce:10us", "nagle", "nodelay")),
        _tiny("native/tinygram/nodelay", "lan-1g"),
        _tiny("loop/stdlib/nodelay", "loopback"),
        _tiny("native/tinygram/nodelay", "loopback"),
    ),
    "N3. 10 kB suffice on 100 Mbit/s, and 100 kB are needed on 1 Gbit/s": tuple(
        Value(
            "suffice",
            "mb_per_s",
            f"sizes/native/tinygram/nodelay/{link}/{size}B/1-round-trip/2-setup-writes",
            1 / line,
        )
        for size in (10_000, 100_000)
        for link, line in _LINE_MB_PER_S.items()
    ),
    "N4. Setup and data belong into one write": tuple(
        _joined(link, size, writes)
        for link, size in (("lan-1g", 1), ("lan-1g", 100), ("lan-1g", 1_000), ("wifi", 1))
        for writes in (2, 1)
    ),
}
