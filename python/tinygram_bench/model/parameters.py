"""The remaining parameters of a case: each workload has a type of its own for them.

To add a workload, write a subclass of `Parameters` whose tag is the workload's name, and add it to
`AnyParameters`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from tinygram_bench.model.value import Value

if TYPE_CHECKING:
    from tinygram_bench.model.result import Case


Direction = Literal["forward", "reverse"]
"""Which way a stream goes: from the near end to the far one, or the other way."""
DEFAULT_CONGESTION_CONTROL = "cubic"
UNPACED_CONGESTION_CONTROLS = (DEFAULT_CONGESTION_CONTROL, "reno")
"""The congestion controls tried, in this order, where the user names none. BBR is not among them:
it would pace, at a rate that it has not measured yet."""
ALLOWED_SYSCTL = "net.ipv4.tcp_allowed_congestion_control"
"""The sysctl that lists the congestion controls which users without CAP_NET_ADMIN may choose."""


class Parameters(Value, frozen=True, tag_field="workload", omit_defaults=True, kw_only=True):
    """Parameters of every workload.

    `probe_ns`: the interval at which what the kernel holds is sampled; None: no samples.
    `link_backend`: the backend that emulates the link; None: the link is not emulated. `slice_ns`:
    the length of the case's slices, beside the other cases of its load; None: it has no slices.
    """

    congestion_control: str
    timeout_ns: int
    probe_ns: int | None = None
    link_backend: str | None = None
    slice_ns: int | None = None

    @classmethod
    def of(cls, case: Case) -> Self:
        assert isinstance(case.parameters, cls), f"{case.case_id} is no case of {cls.__name__}"
        return case.parameters


class StudySwitches(Value, frozen=True, omit_defaults=True, kw_only=True):
    """Switches that only studies set: no command has them.

    `pacer_sleeps`: the pacer does not spin. `flat_out_burst`: messages that are handed over at one
    instant. `pushes_out`: at a rate, what Nagle's algorithm still withholds after a slice's last
    message is made to leave at once, so that nobody waits for it. `spin_ns`, `sleep_ns`
    (loads/planted.py) and `more_bytes`, by which each message is longer than the case says, are
    planted differences.
    """

    pacer_sleeps: bool = False
    flat_out_burst: int | None = None
    pushes_out: bool = False
    spin_ns: int = 0
    sleep_ns: int = 0
    more_bytes: int = 0


class StreamParameters(Parameters, frozen=True, tag="stream", kw_only=True):
    """Parameters of `stream`.

    `duration_ns`: how long messages are sent in each run; None where all `messages` are sent flat
    out. Where there is a duration, `messages` is the most that may be sent. `tls`: over TLS 1.3.
    `direction`: which end sends. `bidirectional`: the other end sends at the same time, which is
    the case of the other direction.
    """

    messages: int
    warm_up_messages: int
    max_batch_bytes: int
    receive_buffer_bytes: int
    receiver_command: str | None
    busy_thread: bool
    duration_ns: int | None = None
    study: StudySwitches = StudySwitches()
    tls: bool = False
    direction: Direction = "forward"
    bidirectional: bool = False


class RrParameters(Parameters, frozen=True, tag="rr", kw_only=True):
    """Parameters of `rr`. `depth` is None where no connection is shared. `tls`: over TLS 1.3.

    `server_strategy` and `backlog` are None for a server that runs already, `server_address` for a
    server of ours; either `calls` or `duration_ns` is None.
    """

    connections: str
    sends_per_request: int
    reply_bytes: int
    checks_replies: bool
    processes: int
    callers_per_process: int
    depth: int | None
    server_runtime: str
    server_address: str | None
    server_strategy: str | None
    quickack: bool
    backlog: int | None
    warm_up_calls: int
    calls: int | None
    duration_ns: int | None
    tls: bool = False


class EchoParameters(Parameters, frozen=True, tag="echo", kw_only=True):
    """Parameters of `echo`. `server` is a row's name, `server_kind` that of the server.

    `buffer_bytes` is None where the server decides it, `fault` for an honest server;
    `server_command` and `server_address` are those of a program that is not ours. `tls`: over TLS
    1.3.
    """

    server: str
    server_kind: str
    depth: int
    reply: str
    buffer_bytes: int | None
    fault: str | None
    messages: int | None
    duration_ns: int | None
    warm_up_messages: int
    server_command: str | None
    server_address: str | None
    tls: bool = False


class SizesParameters(Parameters, frozen=True, tag="sizes", kw_only=True):
    """Parameters of `sizes`. `part`: the timed part of a local round trip; None: an exchange.

    `alternates`: single samples of all cases of the link take turns; otherwise each run is alone.
    """

    part: str | None
    round_trips: int
    samples: int
    first_samples: int
    setup_writes: int | None = None
    server_address: str | None = None
    predicted_bytes: tuple[int, ...] = ()
    alternates: bool = False


class FanoutParameters(Parameters, frozen=True, tag="fanout", kw_only=True):
    """Parameters of `fanout`. `server`: what the publisher calls to write; how many subscribers
    there are is the case's `connections`.
    """

    server: str
    duration_ns: int


AnyParameters = (
    StreamParameters | RrParameters | EchoParameters | SizesParameters | FanoutParameters
)
