"""The meaning of each property of a result file: struct → property → text."""

from __future__ import annotations

from collections.abc import Mapping

_OF_EVERY_WORKLOAD = {
    "workload": "whose parameters these are",
    "congestion_control": "of both sides",
    "timeout_ns": "after so many ns a run fails",
    "slice_ns": "how long a case's turns are beside the other cases of its load, as planned: the "
    "counter slice_ns of a run says how long they were; null: it has no slices, and each run is "
    "alone (of sizes: unless it alternates)",
    "probe_ns": "how often the kernel was asked what it holds, in ns; null: never",
    "link_backend": "what emulates the link; null: nothing has to",
}

PROPERTIES: Mapping[str, Mapping[str, str]] = {
    "MessageBytes": {"min": "smallest size, in bytes", "max": "largest size, in bytes"},
    "Case": {
        "case_id": "what names the case in runs and verdicts; unique in the file",
        "workload": "stream, rr, echo, sizes or fanout",
        "runtime": "who drives the sending: loop, threads, asyncio, uvloop, processes or native; "
        "of echo, external for a program that is not ours",
        "implementation": "who wrote the sending code under test",
        "strategy": "the rule that decides when bytes leave",
        "link": "what lies between the two ends: loopback, veth, remote, a preset, or values",
        "message_bytes": "sizes of messages, or of requests",
        "rate_per_s": "messages or calls due per second; null: flat out, or in a closed loop",
        "arrival": "constant, poisson or onoff; null: without a rate",
        "burst": "messages that are due at one instant; null: flat out, in `fanout` one at a time",
        "producers": "threads that hand messages over; of rr, callers",
        "connections": "connections at a time",
        "placement": "where both ends run: apart, same (core) or none (the kernel's choice)",
        "parameters": "what else was asked for: of each workload its own",
    },
    "StreamParameters": {
        **_OF_EVERY_WORKLOAD,
        "messages": "messages of each run, all producers' together",
        "warm_up_messages": "messages that go before them, in no figure",
        "max_batch_bytes": "a batch this large leaves at once, where the strategy has batches",
        "receive_buffer_bytes": "the largest read of the receiver",
        "receiver_command": "the program in the receiver's place; null: ours",
        "busy_thread": "whether another Python thread computes all the time",
        "duration_ns": "how long the schedule lasts, in ns; null: flat out",
        "tls": "whether over TLS 1.3, with the cipher TLS_AES_256_GCM_SHA384",
        "direction": "which end sends: forward, the near one to the far one, or reverse",
        "bidirectional": "whether the other end sends, too: the case of the other direction",
        "study": "switches that only a study sets",
    },
    "StudySwitches": {
        "pacer_sleeps": "whether the pacer sleeps until a message is due, and does not spin",
        "flat_out_burst": "messages that are handed over at one instant; null: as the bench does",
        "pushes_out": "whether Nagle's algorithm withholds nothing between slices",
        "spin_ns": "how long the sender computes before it hands over a message, in ns",
        "sleep_ns": "how long it sleeps before one message in a hundred, in ns",
        "more_bytes": "by how many bytes each message is longer than the case says",
    },
    "RrParameters": {
        **_OF_EVERY_WORKLOAD,
        "connections": "per-request, per-caller, shared, or many: one for each caller, and no "
        "thread for it",
        "sends_per_request": "send calls for each request",
        "reply_bytes": "size of each reply",
        "checks_replies": "whether every byte of a reply is compared",
        "processes": "processes of callers",
        "callers_per_process": "callers in each of them",
        "depth": "requests in flight on a shared connection; null: none is shared",
        "server_runtime": "native, asyncio, uvloop, or elsewhere: a server that ran already",
        "server_address": "HOST:PORT of a server that ran already; null: one of ours",
        "server_strategy": "of the server; null: its own affair",
        "quickack": "whether the server sets TCP_QUICKACK after each read",
        "backlog": "listen backlog of the server; null: its own affair",
        "warm_up_calls": "calls of each caller before the start",
        "calls": "calls of each caller; null: the run has a duration",
        "duration_ns": "how long callers begin calls, in ns; null: the run has a number of calls",
        "tls": "whether over TLS 1.3, with the cipher TLS_AES_256_GCM_SHA384",
    },
    "EchoParameters": {
        **_OF_EVERY_WORKLOAD,
        "server": "the server as the tables name it, with its buffer and fault",
        "server_kind": "the server alone",
        "depth": "messages in flight on each connection",
        "reply": "per-read or per-message",
        "buffer_bytes": "the largest read of the server; null: its own affair",
        "fault": "what is wrong with the server on purpose; null: nothing",
        "messages": "messages of all clients together; null: the run has a duration",
        "duration_ns": "how long messages are begun, in ns; null: the run has a number of them",
        "warm_up_messages": "messages that go before, in no figure",
        "server_command": "the program that was started as server; null: none",
        "server_address": "HOST:PORT of a program that is not ours; null: the server is ours",
        "tls": "whether over TLS 1.3, with the cipher TLS_AES_256_GCM_SHA384",
    },
    "FanoutParameters": {
        **_OF_EVERY_WORKLOAD,
        "server": "what the publisher calls to write: protocol, streams, epoll or io_uring",
        "duration_ns": "how long publications are due, or are begun, in ns",
    },
    "SizesParameters": {
        **_OF_EVERY_WORKLOAD,
        "part": "which part of a local round trip is timed; null: a connection is",
        "round_trips": "round trips on each connection",
        "samples": "connections of each run",
        "first_samples": "cold-start connections before them, reported separately",
        "setup_writes": "writes for the setup and the first data; null: of a local part",
        "server_address": "HOST:PORT of a server that ran already; null: one of ours",
        "predicted_bytes": "sizes whose time the model is to predict",
        "alternates": "whether single samples of all cases of the link take turns, in one process "
        "at each end; false: each run is alone",
    },
    "Unavailable": {
        "case": "the case that was asked for",
        "reason": "why it cannot run here",
    },
    "Plan": {
        "cases": "every case, in the order of the report",
        "rounds": "passes over all cases, at most",
        "seed": "of what is sent, and of the order of the cases in each round",
        "unavailable": "what was asked for and cannot run here; absent: nothing",
        "until_share": "it ends at a look after which every comparison is as narrow: half an "
        "interval's width ÷ its median; absent: it has all its rounds",
        "max_time_ns": "it ends before a round that would take it past so many ns; absent: never",
        "sweep": "the parameter whose values were chosen while it ran; absent: none",
    },
    "Sweep": {
        "parameter": "rate, in messages per second; hold, in ns; size, in bytes of a message or "
        "request; or rtt, of the link, in ns",
        "low": "its lowest value",
        "high": "its highest value",
        "rounds": "of each step",
        "limit": "what a latency is to stay below; null: nothing was asked",
        "steps": "the points that each step adds. Step n has the plan's rounds from n × rounds on, "
        "and in these run its points' cases and those that belong to no point. The n-th case of "
        "every point is the same but for the value",
    },
    "Point": {
        "value": "of the parameter, in its unit",
        "case_ids": "the cases that have it",
    },
    "Limit": {
        "figure": "which is to stay below it",
        "below_us": "in µs",
    },
    "Warning": {
        "code": "what kind of warning it is",
        "message": "what a reader must know, in words",
        "figures": "how the names of the figures begin that get no verdict because of it",
    },
    "Samples": {
        "interval_ns": "between two samples, in ns",
        "columns": "name → a whole number for each sample; at_ns is the time since the run's start",
    },
    "LinkFacts": {
        "meaning": "all that was asked for, also where the link is a preset",
        "backend": "who made it: relay, netem or veth",
        "device": "what programs see: tun or veth",
        "rtt_ns": "the round trip that was asked for, in ns; null: none",
        "bandwidth_bits_per_s": "in each direction; null: unlimited",
        "jitter_ns": "how far a packet's delay may be off, in ns",
        "loss": "the share of packets that are lost, 0 to 1",
        "queue_bytes": "what the link's own queue holds; null: there is none",
        "mtu_bytes": "the longest packet, in bytes of IP",
        "device_queue_packets": "what the device's queue holds; 0: it hands over at once",
        "has_offload": "whether TCP hands the device segments that it cuts later",
        "is_rootless": "whether the link was made without root, in a user namespace",
        "asked_rtt_ns": "what a program's ping-pong ought to take, in ns; null: not measured",
        "found_rtt_ns": "what it took when the link was up, in ns",
        "left_rtt_ns": "what it took after calibrating, in ns; null: not calibrated",
        "excess_ns": "what calibrating took off both directions together, in ns",
        "calibration_age_ns": "how long before that was found; 0: over this link; null: not at all",
    },
    "HostRun": {
        "host": "the generator's address",
        "server": "the address of the host that its messages went to",
        "connections": "its share of the case's",
        "rate_per_s": "its share of the case's rate; null: flat out",
        "messages": "that it sent, the warm-up not counted; null: not known",
        "throughput_per_s": "its messages a second, flat out; null: paced, or not known",
        "latency_p50_us": "median of its own latencies; null: flat out, or not known",
        "latency_p99_us": "their 99th percentile",
        "latency_max_us": "the greatest of them",
        "clock_bound_ns": "by how much times between its clock and its server's may be wrong",
        "step_error_ns": "by how much its slices may have been beside those that its server's "
        "clock says; null: it told nothing",
        "late_start_ns": "how long after the common start it was told it; 0: before",
        "warnings": "the codes of its own warnings; the run's tell whose they are",
        "failure": "why nothing of it is in the run's figures; null: it is",
        "calls": "that its callers finished, of rr; null: of another workload, or not known",
        "calls_per_s": "calls a second of its callers",
        "call_p50_us": "median of its own calls, connecting left out",
        "call_p99_us": "their 99th percentile",
        "call_max_us": "the longest of them",
        "round_trip_p50_us": "median of its own round trips, of echo; null: of another workload, "
        "or not known",
        "round_trip_p99_us": "their 99th percentile",
        "round_trip_max_us": "the longest of them",
    },
    "Run": {
        "case_id": "the case that ran",
        "round": "in which round, from 0",
        "counters": "raw whole numbers, units last in the names; null: not known here",
        "histograms": "name → HDR histogram (http://hdrhistogram.org) of nanoseconds: the encoding "
        "V2, compressed by zlib, in base64; 3 significant digits, values above an hour counted "
        "as one (hold_ns of the library: 1 digit, and ten seconds)",
        "slices": "figure → its value in each slice, where cases took turns, or in each block of "
        "slices; null: too few messages, or CPU time that is not known, as of the last slice. A "
        "block is as many slices in a row as have 500 messages at the load's rate, for p99, and "
        "5,000 for p99.9. `pacing_error_*_us`: how late the pacer was with what is measured. "
        "`late_us`: how long after the end of a slice its last "
        "message came. `link_stood_still_us`: how much of a slice, and of the gap after it, its "
        "link's relay had no core. Of sizes whose samples alternate the time of the sample in "
        "each cycle, or, of over 1,000 cycles, the median of each block of cycles. Of a cluster, "
        "throughput and calls a second are the sum over its hosts, late_us that of the latest, the "
        "rest their mean",
        "sample_counts": "how many values each histogram holds; what they sample is said there",
        "warnings": "what a reader of the run's figures must know",
        "failure": "why the run failed; null: it succeeded",
        "samples": "what the kernel held during the run; null unless --probe asked for it",
        "link": "how the link was made; null: both ends are on one host",
        "hosts": "the parts of a cluster's generators; where one failed, the run has the warning "
        "`partial_cluster`, and its figures are of the others",
        "figures": "those of its histograms and slices, where a large page has them in their "
        "place; else empty",
    },
    "Figure": {
        "median": "over the rounds; of extremes and rare percentiles, of all samples together",
        "low": "lower end of the interval",
        "high": "upper end of the interval",
    },
    "Summary": {
        "case": "the case that is summed up",
        "rounds": "in how many rounds it succeeded",
        "failed_rounds": "in how many it failed",
        "confidence": "how often such an interval covers the true median, 0 to 1; at least, where "
        "the plan has until_share",
        "figures": "name → figure; null: it cannot be said",
        "warnings": "those of its runs, and of the rounds together",
    },
    "Verdict": {
        "baseline_case_id": "what the case is compared with",
        "case_id": "the case that is judged",
        "figure": "the figure that is compared",
        "ratio": "case ÷ baseline, round by round; null: no round has both; where it has two modes "
        "its interval holds both; between two hosts the interval of a one-way time also holds what "
        "the clocks may be wrong by",
        "verdict": "what the rounds show",
        "reason": "why nothing can be said, or beside faster and slower why there is no size of "
        "that: two modes on the same side of 1; null: all can be said",
        "doubt": "its kind: two_modes, the code of the warning that bars the figure, or no_rounds, "
        "no_figure, too_few_messages, nothing_came, few_rounds, pacing_differs, lateness_differs, "
        "link_stops_differ, clocks_differ",
    },
    "Peer": {
        "peer_id": "what names the peer in its runs",
        "program": "its command",
        "version": "what it says of itself; null: nothing",
        "case_id": "the case of ours that does the same work",
        "figure": "the figure of that case that its own is set against",
        "command": "how it is called; the ports are others in each run",
        "batching": "what becomes of a message's write, in words",
        "meaning": "what its figure counts, in words",
        "differences": "what else it does otherwise, in words",
    },
    "PeerRun": {
        "peer_id": "the peer that ran",
        "round": "in which round, from 0",
        "value": "in the unit of its figure; null: it failed",
        "counters": "the kernel's, of its whole run, and messages, as far as it tells them",
        "failure": "why it failed; null: it succeeded",
    },
    "AbsentPeer": {
        "program": "a program that might have been a peer",
        "reason": "why it is none; a verb comes first",
    },
    "CrossCheck": {
        "peers": "the programs that ran beside ours",
        "runs": "what they told",
        "absent": "the programs that might have run, and did not",
    },
    "Resumption": {
        "started_at": "when it began, UTC, ISO 8601",
        "host": "the host's name; null: --anonymous",
        "finished_runs": "how many runs were kept of those before it: those of finished rounds",
        "differs": "facts of the environment that were others from then on, with their new values",
    },
    "Ending": {
        "rounds": "that it has",
        "looks": "how often it was looked whether it ends, the last time included",
        "cause": "narrow: every comparison is as narrow as the plan asks; time: another round "
        "would have taken too long; rounds: it has all that the plan has; points: a sweep has all "
        "points that it needs",
        "confidence": "of a comparison that every round has, 0 to 1",
    },
    "Result": {
        "schema_version": "of this format: 2",
        "command": "the words of the command line",
        "environment": "facts of the host at the start, by name, units last; null: not known. "
        "`has_real_time_priority`: whether the bench may wake up at once, to read CPU clocks "
        "between slices; where it may not, CPU times of slices are often null. `far`: those of the "
        "far host, where that is another machine, and as `host` and `port` those of `--server`",
        "plan": "what was to be run",
        "runs": "raw, in the order in which they were made; fewer than cases × rounds where the "
        "measurement was ended early, or is not finished",
        "summaries": "statistics over the rounds, a case each; empty in a file that was saved in "
        "the middle of many short rounds",
        "verdicts": "how cases compare; empty where summaries are",
        "cross_check": "what other programs make of the same work; null unless asked for",
        "started_at": "when the measurement began, UTC, ISO 8601; null: by an earlier tinygram",
        "host": "the host's name; null: --anonymous, or by an earlier tinygram",
        "answer": "what was found, a sentence each, as the report says it",
        "resumptions": "when it went on after it had been ended (--resume)",
        "ending": "how it ended, with --until or --max-time; null: without them, or not yet",
        "is_thinned": "whether a large page left out of its histograms what lies between the "
        "values that are told of them",
        "is_condensed": "whether a large page has the figures of its runs in place of histograms "
        "and slices; summaries, verdicts and the answer cannot be made of it again",
    },
}
