"""What each property of a result file means: struct → property → words."""

from __future__ import annotations

from collections.abc import Mapping

PROPERTIES: Mapping[str, Mapping[str, str]] = {
    "MessageBytes": {"min": "smallest size, in bytes", "max": "largest size, in bytes"},
    "Case": {
        "case_id": "what names the case in runs and verdicts; unique in the file",
        "workload": "stream, rr, echo or sizes",
        "runtime": "who drives the sending: loop, threads, asyncio, uvloop, processes or native; "
        "of echo, external for a program that is not ours",
        "implementation": "who wrote the sending code under test",
        "strategy": "the rule that decides when bytes leave",
        "link": "what lies between the two ends: loopback, veth, a preset, or values",
        "message_bytes": "sizes of messages, or of requests",
        "rate_per_s": "messages that are due per second; null: flat out, or in a closed loop",
        "arrival": "constant, poisson or onoff; null: flat out",
        "burst": "messages that are due at one instant; null: flat out",
        "producers": "threads that hand messages over; of rr, callers",
        "connections": "connections at a time",
        "placement": "where both ends run: apart, same (core) or none (the kernel's choice)",
        "parameters": "what else was asked for, by name, units last",
    },
    "Unavailable": {
        "case": "the case that was asked for",
        "reason": "why it cannot run here",
    },
    "Plan": {
        "cases": "every case, in the order of the report",
        "rounds": "passes over all cases",
        "seed": "of what is sent, and of the order of the cases in each round",
        "unavailable": "what was asked for and cannot run here",
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
    "Run": {
        "case_id": "the case that ran",
        "round": "in which round, from 0",
        "counters": "raw whole numbers, units last in the names; null: not known here",
        "histograms": "name → HDR histogram (http://hdrhistogram.org) of nanoseconds: the encoding "
        "V2, compressed by zlib, in base64; 3 significant digits, values above an hour counted "
        "as one (hold_ns of the library: 1 digit, and ten seconds)",
        "sample_counts": "how many values each histogram holds; what they sample is said there",
        "warnings": "what a reader of the run's figures must know",
        "failure": "why the run failed; null: it succeeded",
        "samples": "what the kernel held during the run; null unless --probe asked for it",
        "link": "how the link was made; null: both ends are on one host",
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
        "confidence": "how often such an interval covers the true median, 0 to 1",
        "figures": "name → figure; null: it cannot be said",
        "warnings": "those of its runs, and of the rounds together",
    },
    "Verdict": {
        "baseline_case_id": "what the case is compared with",
        "case_id": "the case that is judged",
        "figure": "the figure that is compared",
        "ratio": "case ÷ baseline, round by round; null: no round has both",
        "verdict": "what the rounds show",
        "reason": "why nothing can be said; null: something can",
        "doubt": "its kind: the code of the warning that bars the figure, or no_rounds, no_figure, "
        "few_rounds, pacing_differs",
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
    "Result": {
        "schema_version": "of this format: 1",
        "command": "the words of the command line",
        "environment": "facts of the host at the start, by name, units last; null: not known",
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
    },
}
