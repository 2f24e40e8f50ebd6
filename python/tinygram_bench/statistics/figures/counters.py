"""The figures that come from a run's raw counters: name → formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Counters = Mapping[str, int | None]
Number = float | None

PER_MILLION = 1_000_000


def _quotient(over: str, under: str, scale: float = 1.0) -> Callable[[Counters], Number]:
    """`over` ÷ `under` × `scale`; None where either is not known or `under` is 0."""

    def formula(counters: Counters) -> Number:
        top, bottom = counters.get(over), counters.get(under)
        return None if top is None or not bottom else top / bottom * scale

    return formula


def _scaled(counter: str, scale: float = 1.0) -> Callable[[Counters], Number]:
    def formula(counters: Counters) -> Number:
        value = counters.get(counter)
        return None if value is None else value * scale

    return formula


def _context_switches_per_million(counters: Counters) -> Number:
    """In slices, from the start to the end of each: without what others' slices did."""
    if counters.get("slices"):
        return _quotient("sliced_context_switches", "messages", PER_MILLION)(counters)
    voluntary = counters.get("voluntary_context_switches")
    involuntary = counters.get("involuntary_context_switches")
    messages = counters.get("messages")
    if voluntary is None or involuntary is None or not messages:
        return None
    return (voluntary + involuntary) / messages * PER_MILLION


def _delayed_acks(counters: Counters) -> Number:
    """In slices, only those sent in them: after each slice, when all has arrived, one is added."""
    name = "sliced_delayed_acks" if counters.get("slices") else "kernel_DelayedACKs"
    return _scaled(name)(counters)


def _calls_per_s(counters: Counters) -> Number:
    """Calls ÷ mean time of a caller: one that waits long for its last reply counts as one."""
    calls, callers = counters.get("calls"), counters.get("callers")
    time_ns = counters.get("callers_time_ns")
    if calls is None or callers is None or not time_ns:
        return None
    return calls * callers / time_ns * 1e9


def _in_flight(counters: Counters) -> Number:
    """The mean number of callers in a call, by Little's law: rate × mean time."""
    rate_per_s, calls = _calls_per_s(counters), counters.get("calls")
    call_ns, connect_ns = counters.get("call_time_ns"), counters.get("connect_time_ns")
    if rate_per_s is None or not calls or call_ns is None or connect_ns is None:
        return None
    return rate_per_s * (call_ns + connect_ns) / calls / 1e9


def _throughput_per_s(counters: Counters) -> Number:
    """In slices, by what came in the middle of each; otherwise that of the whole run.

    A run in slices has no time of its own; where nothing came in the middles, there is no figure.
    """
    if counters.get("middle_ns") is not None:
        return _quotient("middle_messages", "middle_ns", 1e9)(counters) or None
    return _quotient("messages", "run_time_ns", 1e9)(counters)


def _client_cpu_share(counters: Counters) -> Number:
    """The client's CPU time ÷ time; of a cluster, the mean of its generators' clients."""
    share = _quotient("client_cpu_ns", "run_time_ns")(counters)
    return None if share is None else share / (counters.get("generators") or 1)


def _receiver_cpu_share(counters: Counters) -> Number:
    """The receiver's CPU time ÷ time; in slices, without what it used between them."""
    used_ns, of_ns = counters.get("receiver_cpu_ns"), counters.get("receiving_ns")
    if used_ns is None or not of_ns:
        return None
    return (used_ns - (counters.get("other_resting_cpu_ns") or 0)) / of_ns


def _alone(formula: Callable[[Counters], Number]) -> Callable[[Counters], Number]:
    """The formula, but None where cases took turns: then a run has no time of its own."""
    return lambda counters: None if counters.get("slices") else formula(counters)


FORMULAS: Mapping[str, Callable[[Counters], Number]] = {
    "throughput_per_s": _throughput_per_s,
    "run_time_s": _alone(_scaled("run_time_ns", 1e-9)),
    "messages_per_write": _quotient("messages", "writes"),
    "writes_per_message": _quotient("writes", "messages"),
    "writes": _scaled("writes"),
    "bytes_per_read": _quotient("bytes", "reads"),
    "cpu_s_per_million": _quotient("cpu_ns", "messages", PER_MILLION / 1e9),
    "receiver_cpu_s_per_million": _quotient("receiver_cpu_ns", "messages", PER_MILLION / 1e9),
    "receiver_cpu_share": _receiver_cpu_share,
    "records_per_message": _quotient("tls_records", "messages"),
    "wire_bytes_per_message": _quotient("wire_bytes", "messages"),
    "records_per_call": _quotient("tls_records", "calls"),
    "wire_bytes_per_call": _quotient("wire_bytes", "calls"),
    "messages_per_segment": _quotient("messages", "data_segments"),
    "context_switches_per_million": _context_switches_per_million,
    "messages_per_release": _quotient("messages", "releases"),
    "connect_us": _scaled("connect_ns", 1e-3),
    "startup_ms": _scaled("startup_ns", 1e-6),
    "delayed_acks": _delayed_acks,
    "calls_per_s": _calls_per_s,
    "calls_in_flight": _in_flight,
    "cpu_us_per_call": _quotient("cpu_ns", "calls", 1e-3),
    "server_cpu_us_per_call": _quotient("server_cpu_ns", "calls", 1e-3),
    "listen_overflows": _scaled("kernel_ListenOverflows"),
    "syn_retransmits": _scaled("kernel_TCPSynRetrans"),
    "resets": _scaled("kernel_OutRsts"),
    "both_ways_mb_per_s": _quotient("exchanged_bytes", "run_time_ns", 1e3),
    "in_flight": _quotient("round_trips_ns", "run_time_ns"),
    "half_round_trip_us": _scaled("clock_round_trip_ns", 0.5e-3),
    "clock_bound_us": _scaled("clock_bound_ns", 1e-3),
    "client_cpu_share": _client_cpu_share,
}
