"""The claims of a lecture on message size, latency and bandwidth, on one machine."""

from __future__ import annotations

from published_claims.evidence import ByRound, Claims, Ratio, Value

_FIRST = "sizes --lone --samples 500 --no-local --sizes 1 --round-trips 0"
COMMANDS = {
    "sizes": "sizes --samples 500 --published",
    "same-core": "sizes --samples 500 --no-local --pin same",
    "joined": "sizes --samples 500 --no-local --setup-writes 2 --setup-writes 1 "
    "--strategy nodelay --strategy nagle --sizes 1..10kB",
    "first": _FIRST,
    "first-same-core": f"{_FIRST} --pin same",
}


def _cell(size_bytes: int, round_trips: int) -> str:
    trips = "1-round-trip" if round_trips == 1 else f"{round_trips}-round-trips"
    return f"sizes/native/tinygram/nodelay/loopback/{size_bytes}B/{trips}/2-setup-writes"


_MB = 1_000_000
_BOTH = ("same-core", "sizes")


def _joined(strategy: str, setup_writes: int) -> str:
    writes = "1-setup-write" if setup_writes == 1 else f"{setup_writes}-setup-writes"
    return f"sizes/native/tinygram/{strategy}/loopback/100B/1-round-trip/{writes}"


CLAIMS: Claims = {
    # Bytes ÷ the second round trip alone, by bytes ÷ the whole.
    "S1. Its MB/s is the bandwidth": tuple(
        ByRound(command, "total_p50_us", _cell(_MB, 2), over="next_trip_p50_us", scale=0.5)
        for command in _BOTH
    ),
    "S2. A larger message makes the setup longer": tuple(
        Ratio(command, "total_p50_us", _cell(_MB, 0), _cell(1, 0)) for command in _BOTH
    ),
    "S3. The first sample is slower": tuple(
        ByRound(command, "first_sample_us", _cell(1, 0), over="total_p50_us")
        for command in ("first-same-core", "first")
    ),
    "S4. Up to 10 kB the size hardly matters": (
        *(
            ByRound(command, "transfer_p50_us", _cell(size, 1), baseline=_cell(10, 1))
            for command in _BOTH
            for size in (10_000, 100_000)
        ),
        *(Value(each, "model_n_half_bytes", _cell(_MB, 1), 1e-3) for each in _BOTH),
    ),
    "S5. The second round trip is cheaper than the first": tuple(
        ByRound(command, "next_trip_p50_us", _cell(size, 2), over="first_trip_p50_us")
        for command in _BOTH
        for size in (10, 10_000, 100_000)
    ),
    "S6. Time is setup + trips × (latency + bytes ÷ bandwidth)": tuple(
        Value(command, "model_residual_percent", _cell(size, trips))
        for command in _BOTH
        for size, trips in ((_MB, 1), (_MB, 2), (1, 1))
    ),
    "Not in the table: setup and data in one write": tuple(
        Ratio("joined", "total_p50_us", _joined(*way), _joined("nodelay", 2))
        for way in (("nagle", 2), ("nagle", 1), ("nodelay", 1))
    ),
}
