"""Every figure of a summary and every histogram of a run: name → unit and meaning.

This is the only registry: the JSON Schema lists these and allows no other. A figure of a histogram
is described by the histogram's line; any other figure has its own line.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygram_bench.schema.counters import Said
from tinygram_bench.statistics.figures.runs import STATISTIC_OF_FIGURE
from tinygram_bench.statistics.workloads import WORKLOADS

HISTOGRAMS: Mapping[str, str] = {
    "latency_ns": "every message, from when it was due until its last byte was read",
    "last_ns": "every publication of `fanout`, from when it was due, flat out from when it was "
    "begun, until its last subscriber had read it",
    "net_latency_ns": "every message, the same without what the pacer was late with it",
    "queueing_ns": "the first message of each burst, from the hand-over until its last byte was "
    "read; flat out a burst has up to 64 messages, so that of 200,000 messages 3,125 are sampled; "
    "every message where several paced producers hand them over",
    "pacing_error_ns": "every release of the pacer: how late it was",
    "hold_ns": "every message that was held back, from the hand-over until its write",
    "call_ns": "every call, from the first write of its request until the last byte of its reply; "
    "at a rate from when it was due, its connecting included, and calls that could not be begun "
    "before the end have the time that they had waited by then, which is less than they would "
    "have taken",
    "start_delay_ns": "every call, or message of `echo`, at a rate: from when it was due until it "
    "was begun, because an earlier reply was waited for, or a core; those that could not be begun "
    "have the time that they had waited",
    "connect_ns": "every connection: of rr, connect(2) and the wait for the interpreter after it; "
    "of sizes, connect(2)",
    "round_trip_ns": "every message, at the client, from before the write of its first byte until "
    "after the read of its last one; in slices every message that was begun in the part that "
    "counts, also where it came back later; at a rate from when it was due, and messages that "
    "could not be sent before the end have the time that they had waited by then",
    "setup_ns": "every sample but the first ones: the setup's write and what it waits for",
    "transfer_ns": "every sample but the first ones: all its round trips",
    "total_ns": "every sample but the first ones: connecting, setup and transfer",
    "first_trip_ns": "every sample but the first ones: its first round trip",
    "next_trip_ns": "every sample but the first ones: each round trip but its first",
    "first_total_ns": "the first samples (--first), which are in no other histogram",
    "part_ns": "every sample of a local part of a round trip",
    "link_lateness_ns": "every packet: how long after it was due the relay began to deliver it; "
    "where samples alternate, of all cases of the round together, and where `is_condensed`, of all "
    "runs over the link, in the first of them",
}
_STATISTICS = {
    "min": "the least",
    "mean": "the mean",
    "p50": "the median",
    "p99": "the 99th percentile",
    "p99_9": "the 99.9th percentile",
    "p99_99": "the 99.99th percentile",
    "max": "the greatest",
}
_OF_COUNTERS: Mapping[str, Said] = {
    "throughput_per_s": ("1/s", "messages ÷ run time; flat out only"),
    "run_time_s": ("s", "run_time_ns; flat out only"),
    "messages_per_write": ("messages", "messages ÷ writes"),
    "writes_per_message": (
        "system calls",
        "writes ÷ messages; of `fanout`, a message is one that came to one subscriber",
    ),
    "writes": ("system calls", "the counter"),
    "bytes_per_read": ("bytes", "bytes ÷ the receiver's reads"),
    "cpu_s_per_million": (
        "s",
        "of CPU time for a million messages: of the sender or server; of a slice, until the case's "
        "next one begins, for all its messages, those that settle with them",
    ),
    "receiver_cpu_share": (
        "1",
        "of the time that it was to receive, the receiver's CPU time; where it decrypts",
    ),
    "records_per_message": ("records", "of TLS, with data, ÷ messages"),
    "wire_bytes_per_message": ("bytes", "of TLS records, their headers included, ÷ messages"),
    "records_per_call": ("records", "of TLS, with a request's data, ÷ calls"),
    "wire_bytes_per_call": ("bytes", "of these records, their headers included, ÷ calls"),
    "receiver_cpu_s_per_million": ("s", "of the receiver's CPU time for a million messages"),
    "messages_per_segment": ("messages", "messages ÷ segments with data"),
    "context_switches_per_million": (
        "switches",
        "for a million messages; in slices, of these alone (sliced_context_switches)",
    ),
    "messages_per_release": ("messages", "messages ÷ the pacer's releases; paced only"),
    "connect_us": ("µs", "connect_ns"),
    "startup_ms": ("ms", "startup_ns"),
    "half_round_trip_us": (
        "µs",
        "half of clock_round_trip_ns; between two hosts it is shown in place of a latency of which "
        "clock_bound_us is more than a fifth",
    ),
    "clock_bound_us": (
        "µs",
        "clock_bound_ns: by which a latency, a publication's last one, or a time in a queue may be "
        "wrong between two hosts; low and high: the least and the most of the rounds",
    ),
    "delayed_acks": (
        "acknowledgements",
        "kernel_DelayedACKs; in slices sliced_delayed_acks, for their ends add some",
    ),
    "calls_per_s": ("1/s", "calls ÷ the mean time of a caller"),
    "calls_in_flight": ("calls", "on average at a time, by Little's law"),
    "cpu_us_per_call": (
        "µs",
        "of the callers' CPU time; of a slice, until the case's next one begins, for all its calls",
    ),
    "server_cpu_us_per_call": ("µs", "of the server's CPU time"),
    "listen_overflows": ("connections", "kernel_ListenOverflows"),
    "syn_retransmits": ("segments", "kernel_TCPSynRetrans"),
    "resets": ("segments", "kernel_OutRsts"),
    "both_ways_mb_per_s": ("MB/s", "exchanged bytes ÷ run time; a MB has 10⁶ bytes"),
    "in_flight": ("messages", "on average at a time, by Little's law"),
    "client_cpu_share": (
        "1",
        "of the run that the client was on the CPU; of a cluster, the mean of its clients",
    ),
    "stalled_slices_share": (
        "1",
        "of the slices in which a message, or call, took over 2 ms longer than half of the others; "
        "of cases that took turns",
    ),
    "first_sample_us": ("µs", "first_sample_ns"),
    "mb_per_s": ("MB/s", "bytes ÷ the median transfer; a MB has 10⁶ bytes"),
    "total_mb_per_s": ("MB/s", "bytes ÷ the median total; a MB has 10⁶ bytes"),
    "model_setup_us": ("µs", "of the fitted law, setup + trips × (latency + bytes ÷ bandwidth)"),
    "model_latency_us": ("µs", "of the fitted law, for each round trip"),
    "model_mb_per_s": ("MB/s", "the fitted law's bandwidth"),
    "model_n_half_bytes": ("bytes", "the size that reaches half of the fitted bandwidth"),
    "model_n90_bytes": ("bytes", "the size that reaches nine tenths of the fitted bandwidth"),
    "model_residual_percent": ("%", "by which the cell is off the fitted law"),
}


def _of_histogram(histogram: str, statistic: str) -> Said:
    return "µs", f"{_STATISTICS[statistic]} of the histogram {histogram}_ns"


FIGURES: Mapping[str, Said] = {
    **_OF_COUNTERS,
    **{name: _of_histogram(*made_of) for name, made_of in STATISTIC_OF_FIGURE.items()},
}
FIGURES_OF_RUNS: Mapping[str, Said] = {
    **FIGURES,
    **{
        f"{histogram}_mean_us": _of_histogram(histogram, "mean")
        for workload in WORKLOADS.values()
        for histogram in workload.histograms
    },
}
"""The figures that a run of a condensed result can have: a summary does not have every mean."""
