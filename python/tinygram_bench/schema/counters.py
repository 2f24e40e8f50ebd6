"""Every counter that a run can have: name → unit and meaning.

This is the only registry: the JSON Schema lists these counters and allows no other. To add a
counter, add its line.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygram_bench.host.probes.kernel import KERNEL_COUNTERS

Said = tuple[str, str]
"""A unit and a meaning."""

_DIRECTIONS = {"near_to_far": "from the near host to the far one", "far_to_near": "back"}
_OF_A_DIRECTION: Mapping[str, Said] = {
    "packets": ("packets", "delivered by the link"),
    "bytes": ("bytes", "delivered by the link, of IP"),
    "lost": ("packets", "lost as asked"),
    "full": ("packets", "that found the link's own queue full"),
    "overflow": ("packets", "dropped unasked: more was on the way than the relay keeps"),
    "refused": ("packets", "dropped unasked, by the device that they were going to"),
    "missed": ("packets", "dropped unasked, by the relay's packet socket"),
    "ignored": ("packets", "not carried: no IPv4, or longer than the MTU"),
}
_IN_SLICES = "in slices, those that settle and that come after their ends with them"
_WHOLE_RUN = "in slices, of the whole run, settling, draining and resting with it"
_ENDS_OF_SLICES = f"{_WHOLE_RUN}: each slice's end cuts batches short"
_ACKNOWLEDGED = f"{_ENDS_OF_SLICES}, and adds acknowledgements that were delayed"
_EDGES = (
    "from 0.5 ms before each until the end of the gap after it; null: not known, of more than 32 "
    "threads for example"
)
_MIDDLES = "in slices, in their middles"
_OF_RUNS: Mapping[str, Said] = {
    "messages": ("messages", f"of the run, the warm-up not counted; {_IN_SLICES}"),
    "bytes": ("bytes", "of these messages"),
    "run_time_ns": (
        "ns",
        "from the clock's start until the last byte, or reply, was there; of `echo` in slices, "
        "of their middles; of `sizes` whose samples alternate, the other cases' with it",
    ),
    "connect_ns": ("ns", "that connecting took; with several connections the mean"),
    "connect_max_ns": ("ns", "that the slowest connection took to connect"),
    "startup_ns": (
        "ns",
        "from the start of the sender's process until it could send, less its wait for an order",
    ),
    "publications": ("publications", "of `fanout`, each to all subscribers"),
    "timed_publications": (
        "publications",
        "of `fanout` on an event loop, those that `last_ns` is of: what was due while a slice "
        "settled is none of them",
    ),
    "start_delays_ns": (
        "ns",
        "all timed publications together: from when each was due until it was begun",
    ),
    "handing_over_ns": (
        "ns",
        "of the same publications: from then until its writes to all had returned, or until the "
        "iteration ended where the strategy holds it so long or longer, without a rate with the "
        "wait for transports that have too much",
    ),
    "probe_cpu_ns": ("ns", "of CPU time that --probe took"),
    "throttled_periods": (
        "periods",
        "in which a CPU quota stopped the bench's control group during the run; cases that took "
        "turns have those of all of them together",
    ),
    "throttled_ns": ("ns", "for which it did; cases that took turns have it all of them together"),
}
_OF_PROCESSES: Mapping[str, Said] = {
    "cpu_ns": (
        "ns",
        "of CPU time of the sender, of a server under test, or of the clients; of `sizes` of the "
        f"client for the measured samples; {_WHOLE_RUN}",
    ),
    "voluntary_context_switches": (
        "switches",
        f"of the same processes, which waited; {_WHOLE_RUN}: each rest adds some",
    ),
    "involuntary_context_switches": (
        "switches",
        f"of the same processes, which were interrupted; {_WHOLE_RUN}",
    ),
    "writes": (
        "system calls",
        "that wrote to the connections, counted in front of the C library; " + _ENDS_OF_SLICES,
    ),
    "written_bytes": ("bytes", "that these wrote"),
    "instructions": (
        "instructions",
        "of the sender in user space, flat out; null: the machine does not count them, or not for "
        "this user (perf_event_open(2))",
    ),
    "would_block": (
        "system calls",
        f"that wrote nothing, the kernel's buffer being full; {_WHOLE_RUN}",
    ),
    "write_cpu_ns": (
        "ns",
        f"of CPU time inside of these writes, of the sender; {_WHOLE_RUN}",
    ),
    "waits": (
        "system calls",
        f"of the sender that wait: an event loop's, a lock's, a sleep's; {_WHOLE_RUN}",
    ),
    "wait_cpu_ns": ("ns", f"of CPU time inside of these; {_WHOLE_RUN}"),
    "program_cpu_ns": (
        "ns",
        "of CPU time of the sender's program, its interpreter and its other system calls, between "
        f"such calls; {_WHOLE_RUN}",
    ),
    "timing_cpu_ns": (
        "ns",
        "of CPU time that reading the CPU clock took, and asking the kernel; it is in cpu_ns. "
        "Reading the processor's counter at each call is in the other parts",
    ),
    "unsent_writes": (
        "system calls",
        "among these writes after which the kernel held bytes that it had not sent (SIOCOUTQNSD), "
        "of one in many, scaled; null: not known",
    ),
    "busy_thread_cpu_ns": ("ns", "of CPU time of the thread of --busy-thread, in no other count"),
    "pacer_spin_cpu_ns": ("ns", "of CPU time that the pacer waited by spinning, not in cpu_ns"),
    "releases": ("releases", "of messages by the pacer: each hands over what is due"),
    "last_due_ns": ("ns", "from the start until the last message was due"),
    "send_buffer_bytes": ("bytes", "of the sending socket's buffer (SO_SNDBUF)"),
    "reads": (
        "system calls",
        "by which the receiver read, over TLS records that it decrypted; " + _ENDS_OF_SLICES,
    ),
    "tls_records": (
        "records",
        "of TLS that brought these messages, or their replies, as the receiver or client read "
        "them; of rr the requests of all calls, as the server read them; " + _ENDS_OF_SLICES,
    ),
    "wire_bytes": ("bytes", "of these records, with headers and tags"),
    "closing_wire_bytes": ("bytes", "of the record by which the sender closed TLS; 0: it did not"),
    "receiving_ns": (
        "ns",
        "in which a receiver that decrypts was to receive; in slices, the length of all of them",
    ),
    "receiver_cpu_ns": ("ns", f"of CPU time of the receiver; {_WHOLE_RUN}"),
    "receiver_voluntary_context_switches": (
        "switches",
        f"of the receiver, which waited; {_WHOLE_RUN}: each rest adds some",
    ),
    "receiver_involuntary_context_switches": (
        "switches",
        f"of the receiver, interrupted; {_WHOLE_RUN}",
    ),
    "receive_buffer_bytes": ("bytes", "of the receiving socket's buffer (SO_RCVBUF)"),
    "slices": ("slices", "of a run that took turns with others of its load"),
    "slice_lasted_ns": (
        "ns",
        "that each of its slices lasted: as planned, or longer, by how long messages or calls of "
        "its load took before the start",
    ),
    "slices_overrun": ("slices", "whose last message came after the next case's slice had begun"),
    "slices_entered": ("slices", "in which messages of another case still came"),
    "resting_cpu_ns": (
        "ns",
        "of CPU time between its slices: of the sender, of a server under test, or of rr's "
        "callers; null: not known",
    ),
    "other_resting_cpu_ns": (
        "ns",
        "of CPU time between its slices of the other end: of the receiver, of rr's server, or of "
        "echo's client; null: not known",
    ),
    "sliced_context_switches": (
        "switches",
        "to threads of the processes that cpu_ns is of, in its slices (schedstat of each thread): "
        f"{_EDGES}",
    ),
    "sliced_core_wait_ns": (
        "ns",
        f"that these threads could have run and had no core, in its slices: {_EDGES}",
    ),
    "other_sliced_core_wait_ns": (
        "ns",
        f"the same of the other end: {_EDGES}",
    ),
    "sliced_delayed_acks": (
        "acknowledgements",
        "that TcpExt DelayedACKs counts in its slices, of both ends, and not those after the last "
        f"message of each: {_EDGES}; null: others' traffic is in the count, too",
    ),
    "frozen_ns": ("ns", "for which `tinygram trust` stopped the receiver"),
    "middle_messages": (
        "messages",
        "measured in the middle of slices: of `echo` and `fanout`, and of `stream` flat out",
    ),
    "middle_ns": ("ns", "of these middles together"),
    "early_ns": (
        "ns",
        "of `fanout`, and of `stream` between two hosts: by how much a message came before it was "
        "due, or handed over, at most, by the two clocks; it counts as no time at all; never more "
        "than clock_bound_ns",
    ),
    "clock_bound_ns": ("ns", "by which times between two hosts' clocks may be wrong"),
    "clock_round_trip_ns": ("ns", "the shortest round trip in which the far host told its time"),
    "generators": ("hosts", "of a cluster whose parts are in the run"),
    "step_error_ns": ("ns", "by which the slices of two of these hosts may have been out of step"),
    "strangers": ("connections", "of other programs, which the receiver or server turned away"),
    "peer_port": ("port", "of the end that connected, as the receiver saw it"),
}
_OF_THE_CONNECTION: Mapping[str, Said] = {
    "data_segments": (
        "segments",
        f"with data that the connection sent (TCP_INFO); {_ENDS_OF_SLICES}",
    ),
    "segments_out": ("segments", f"that the connection sent (TCP_INFO); {_ENDS_OF_SLICES}"),
    "segments_in": ("segments", f"that the connection received (TCP_INFO); {_ACKNOWLEDGED}"),
    "retransmits": ("segments", f"that the connection sent again (TCP_INFO); {_WHOLE_RUN}"),
    "send_mss_bytes": ("bytes", "of data in a segment at most (TCP_INFO)"),
    "rtt_us": ("µs", "of the smoothed round trip at the end (TCP_INFO)"),
}
_OF_RR: Mapping[str, Said] = {
    "calls": ("calls", f"finished, the warm-up not counted; {_IN_SLICES}"),
    "callers": ("callers", "in all processes"),
    "call_time_ns": ("ns", "of all calls together, each from the first write of its request"),
    "calls_not_begun": (
        "calls",
        "at a rate: that were due, and that their callers, which still waited for replies, could "
        "not begin before the end",
    ),
    "messages_not_begun": (
        "messages",
        "of `echo` at a rate: that were due, and that could not be sent before the end, because as "
        "many as allowed were in flight",
    ),
    "behind_ns": (
        "ns",
        "at a rate: how long the first of these had been due at the end, in the case's own time",
    ),
    "connect_time_ns": ("ns", "of all connecting together"),
    "callers_time_ns": ("ns", "of all callers together, from the start to each one's end"),
    "server_cpu_ns": (
        "ns",
        "of CPU time of the server, during the calls; of `sizes` for all its connections of the "
        "case, those of the samples in no figure with them; each ends when its sample has been "
        "compared: closing it counts as the next one's",
    ),
    "server_requests": (
        "requests",
        "that the server counted, the warm-up's and one before it with them",
    ),
    "server_split_requests": (
        "requests",
        "that the server read in parts, the warm-up's with them, and not the one before it",
    ),
    "server_rest_ns": (
        "ns",
        "from reading the first part of these to reading their last, together",
    ),
    "server_reads": ("system calls", "by which the server read"),
    "server_writes": ("system calls", "by which the server wrote"),
    "server_short_requests": ("connections", "that ended in the middle of a request"),
    "server_wrong_requests": ("connections", "that sent other bytes than were to be sent"),
    "server_failed_connections": ("connections", "that failed"),
    "server_evicted_connections": ("connections", "closed to make room for others"),
    "server_failed_accepts": ("system calls", "accept(2) that failed"),
    "server_most_connections": ("connections", "at a time, at most"),
}
_OF_ECHO: Mapping[str, Said] = {
    "exchanged_bytes": ("bytes", f"of the messages, both ways; {_MIDDLES}"),
    "round_trips_ns": (
        "ns",
        "of all round trips together; in slices, as far as they were measured",
    ),
    "client_writes": ("system calls", f"by which the client wrote; {_MIDDLES}"),
    "client_reads": ("system calls", f"by which the client read; {_MIDDLES}"),
    "client_cpu_ns": ("ns", f"of CPU time of the client, without what it polled; {_MIDDLES}"),
    "client_polled_ns": ("ns", f"that the client polled, having nothing to do; {_MIDDLES}"),
    "client_voluntary_context_switches": (
        "switches",
        f"of the client, which waited; {_MIDDLES}",
    ),
    "client_involuntary_context_switches": (
        "switches",
        f"of the client, interrupted; {_MIDDLES}",
    ),
    "fewest_messages_of_a_worker": (
        "messages",
        f"of the worker that had the fewest; {_MIDDLES}",
    ),
    "most_messages_of_a_worker": (
        "messages",
        f"of the worker that had the most; {_MIDDLES}",
    ),
}
_OF_SIZES: Mapping[str, Said] = {
    "samples": ("samples", "that were measured, of a cell or of a local part"),
    "first_sample_ns": (
        "ns",
        "of the first sample, which is in first_total_ns alone: of a process, or where samples "
        "alternate of the case, before which other cases may have had theirs",
    ),
    "server_samples": (
        "samples",
        "that the server counted, with the first ones and one whose last byte was withheld",
    ),
    "server_compared_samples": ("samples", "whose bytes the server compared"),
    "server_bytes": ("bytes", "of messages that the server counted"),
    "server_connections": ("connections", "that the server accepted"),
    "server_refused_connections": ("connections", "refused, which were not ours"),
    "server_idle_connections": ("connections", "closed, which made no progress"),
}
_TOGETHER = (
    "; where samples alternate, of all cases of the round together; with both directions at once, "
    "of both"
)
_OF_LINKS: Mapping[str, Said] = {
    "link_near_to_far_data_packets": (
        "packets",
        f"of TCP with data, that the near host sent; those that stay together are one{_TOGETHER}",
    ),
    "link_near_to_far_data_after_arrival": (
        "packets",
        "of these that left within 0.1 ms after a packet of their connection came to the near host"
        + _TOGETHER,
    ),
    "link_near_to_far_data_alone": (
        "packets",
        "of these that left when all that their connection had sent before was acknowledged"
        + _TOGETHER,
    ),
    "link_relay_cpu_ns": ("ns", f"of CPU time of the relay's thread{_TOGETHER}"),
    "link_relay_watched_ns": ("ns", "for which the relay watched whether it stood still"),
    "link_relay_stopped_ns": ("ns", f"for which the relay stood still{_TOGETHER}"),
    "link_relay_stops": ("stops", f"of the relay, longer than it ever waits{_TOGETHER}"),
    "link_device_dropped": ("packets", f"dropped unasked, by a device{_TOGETHER}"),
}

COUNTERS: Mapping[str, Said] = {
    **_OF_RUNS,
    **_OF_PROCESSES,
    **_OF_THE_CONNECTION,
    **_OF_RR,
    **_OF_ECHO,
    **_OF_SIZES,
    **_OF_LINKS,
    **{
        f"link_{direction}_{name}": (unit, f"{meaning}, {where}{_TOGETHER}")
        for direction, where in _DIRECTIONS.items()
        for name, (unit, meaning) in _OF_A_DIRECTION.items()
    },
    **{
        name: (
            "events",
            f"{group} {counter} of the kernel (snmp_counter.rst), both ends together; null where "
            "samples alternate: it counts all cases'; " + _ACKNOWLEDGED,
        )
        for name, (group, counter) in KERNEL_COUNTERS.items()
    },
}
