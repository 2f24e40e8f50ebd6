"""The claims on nine ways of sending in Python."""

from __future__ import annotations

from published_claims.evidence import Asked, Claims, Ratio, Value

COMMANDS = {
    "published": "stream --published --duration 1s",
    "all": "stream --all",
    "longer": "stream --only runtime=loop,runtime=threads,runtime=asyncio,"
    "strategy=coalesce:10us,strategy=coalesce:100us,strategy=coalesce:1ms",
    "paced": "stream --rate 1000 --only runtime=loop,runtime=threads,runtime=asyncio,"
    "strategy=nagle,strategy=nodelay",
}
_CONFIGURATIONS = ("loop", "threads", "asyncio")
_LOOPS = ("asyncio", "uvloop")
_STRATEGIES = ("nagle", "nodelay", "coalesce:10us")
_THROUGHPUT = "throughput_per_s"
_PER_THOUSAND = 1e-3


def _by_hand(runtime: str, strategy: str) -> str:
    return f"stream/{runtime}/stdlib/{strategy}/*"


_NATIVE = "stream/native/tinygram/nodelay/*"
_NATIVE_BATCHES = "stream/native/tinygram/tick/*"


def _throughputs(command: str, runtime: str, strategy: str, baseline: str) -> Asked:
    return Ratio(command, _THROUGHPUT, _by_hand(runtime, strategy), _by_hand(runtime, baseline))


CLAIMS: Claims = {
    "1. Coalescing won in all three configurations": tuple(
        _throughputs("published", runtime, "coalesce:10us", baseline)
        for baseline in ("nagle", "nodelay")
        for runtime in _CONFIGURATIONS
    ),
    "2. asyncio beats threads": tuple(
        Ratio("published", _THROUGHPUT, _by_hand("asyncio", each), _by_hand("threads", each))
        for each in _STRATEGIES
    ),
    "3. More than 200,000 messages/s is hard": tuple(
        Value("published", _THROUGHPUT, case, _PER_THOUSAND)
        for case in (
            *(_by_hand("loop", each) for each in ("nodelay", "nagle", "coalesce:10us")),
            _NATIVE_BATCHES,
        )
    ),
    "4. Cork lies between NODELAY and coalescing": tuple(
        _throughputs("all", runtime, "cork", baseline)
        for runtime in (*_CONFIGURATIONS, "uvloop")
        for baseline in ("nodelay", "coalesce:10us")
    ),
    "5. Multiprocessing is worse": (
        *(
            Ratio("all", _THROUGHPUT, _by_hand("processes", each), _by_hand("threads", each))
            for each in _STRATEGIES
        ),
        Value("all", "cpu_s_per_million", _by_hand("processes", "coalesce:10us")),
    ),
    "6. A timer per batch is too slow": (
        *(_throughputs("all", each, "timer:10us", "coalesce:10us") for each in _LOOPS),
        *(Value("all", "hold_p50_us", _by_hand(each, "timer:10us")) for each in _LOOPS),
    ),
    "7. A longer wait gains little": tuple(
        _throughputs("longer", runtime, "coalesce:1ms", baseline)
        for baseline in ("coalesce:10us", "coalesce:100us")
        for runtime in _CONFIGURATIONS
    ),
    "8. The send call is the bottleneck": (
        Value("published", _THROUGHPUT, _NATIVE, _PER_THOUSAND),
        Value("published", _THROUGHPUT, _NATIVE_BATCHES, _PER_THOUSAND),
        Ratio("published", _THROUGHPUT, _NATIVE_BATCHES, _NATIVE),
        *(
            Ratio("published", _THROUGHPUT, _by_hand(runtime, "nodelay"), _NATIVE)
            for runtime in _CONFIGURATIONS
        ),
    ),
    "9. Loopback hides Nagle": (
        *(
            Value("published", "messages_per_segment", _by_hand(runtime, "nagle"))
            for runtime in _CONFIGURATIONS
        ),
        *(_throughputs("published", each, "nagle", "nodelay") for each in _CONFIGURATIONS),
        *(
            Ratio("paced", "latency_p50_us", _by_hand(each, "nagle"), _by_hand(each, "nodelay"))
            for each in _CONFIGURATIONS
        ),
    ),
}
