"""The bench's native module: thin classes over crates/load and crates/link, primitives in and out.

Times are CLOCK_MONOTONIC in nanoseconds. Calls that may block or run long release the GIL. Its
Histogram is the library's, compiled a second time: neither module takes the other's objects."""

from collections.abc import Sequence
from typing import ClassVar, final

from tinygram_bench._native_diag import SocketDiag, SocketProbe, proc_sockets, socket_options
from tinygram_bench._native_echo import EchoClient, EchoServer
from tinygram_bench._native_fanout import (
    NativePublisher,
    Publications,
    Subscribers,
    Timer,
    publications_due_ns,
)
from tinygram_bench._native_link import (
    CALIBRATION_BITS_PER_S,
    CALIBRATION_DELAY_NS,
    ETHERNET_BYTES,
    OFFLOADED_BYTES,
    PING_PONG_BYTES,
    RTT_FLOOR_NS,
    LinkRelay,
    enter_pid_namespace,
    pid_namespace_refusal,
    ping_pong_ns,
)
from tinygram_bench._native_process import (
    call_times,
    count_instructions,
    count_writes_library,
    create_network_namespace,
    die_with_parent,
    enter_network_namespace,
    give_up_capabilities,
    instructions,
    io_uring_refusal,
    send_queue_bytes,
    set_exact_timers,
    set_process_name,
    tcp_info,
    watch_more_writes,
    watch_writes,
    write_counts,
)
from tinygram_bench._native_rr import (
    CallBook,
    CallContent,
    CallLog,
    RequestReader,
    RrCallers,
    RrServer,
)
from tinygram_bench._native_sizes import SizesServer, take_samples, time_local
from tinygram_bench._native_stream import (
    ManyConnections,
    MessagePool,
    Pacer,
    Receiver,
    StreamCheck,
    match_flat_out,
    match_flat_out_sliced,
    match_paced,
    match_sliced,
    read_notes,
    scheduled_messages,
    send_flat_out,
    send_in_slices,
    send_paced,
)

__all__ = [
    "CALIBRATION_BITS_PER_S",
    "CALIBRATION_DELAY_NS",
    "ETHERNET_BYTES",
    "OFFLOADED_BYTES",
    "PING_PONG_BYTES",
    "RTT_FLOOR_NS",
    "Admission",
    "CallBook",
    "CallContent",
    "CallLog",
    "EchoClient",
    "EchoServer",
    "Histogram",
    "LinkRelay",
    "ManyConnections",
    "MessagePool",
    "NativePublisher",
    "Pacer",
    "Publications",
    "Receiver",
    "RequestReader",
    "RrCallers",
    "RrServer",
    "SizesServer",
    "SocketDiag",
    "SocketProbe",
    "StreamCheck",
    "Subscribers",
    "Timer",
    "__version__",
    "call_times",
    "count_instructions",
    "count_writes_library",
    "create_network_namespace",
    "die_with_parent",
    "enter_network_namespace",
    "enter_pid_namespace",
    "give_up_capabilities",
    "instructions",
    "io_uring_refusal",
    "match_flat_out",
    "match_flat_out_sliced",
    "match_paced",
    "match_sliced",
    "pid_namespace_refusal",
    "ping_pong_ns",
    "proc_sockets",
    "publications_due_ns",
    "read_notes",
    "scheduled_messages",
    "send_flat_out",
    "send_in_slices",
    "send_paced",
    "send_queue_bytes",
    "set_exact_timers",
    "set_process_name",
    "socket_options",
    "take_samples",
    "tcp_info",
    "thinned",
    "time_local",
    "watch_more_writes",
    "watch_writes",
    "write_counts",
]

__version__: str

@final
class Admission:
    """By what a client's connections are known: their address, a token in front, or both."""

    ADMITTED: ClassVar[bytes]
    """What the server answers to a connection that has brought the token."""

    def __new__(cls, host: str | None = None, token: bytes | None = None) -> Admission:
        """`host`: an IP address, None: any will do; `token`: 16 bytes, None: there is none.

        Raises ValueError.
        """

    def guard(self, fd: int) -> None:
        """Have the kernel hand over no connection whose token has not come.

        `fd`: a socket that does not listen yet. Raises OSError.
        """

    def admit(self, fd: int, peer: str | None) -> bool:
        """Read the token of an accepted connection, and tell the client that it is admitted.

        False: it is not the client's. `peer`: its address, None: it has ended already. It does not
        wait.
        """

    def introduce(self, fd: int, timeout_ns: int) -> None:
        """Bring the token on a new connection, and wait until the server has it. Raises OSError."""

@final
class Histogram:
    """An HDR histogram of nanoseconds with 3 significant digits (http://hdrhistogram.org)."""

    def __new__(cls) -> Histogram: ...
    @staticmethod
    def from_base64(text: str) -> Histogram:
        """Read the standard V2 (compressed) base64 form; ValueError when it is not one."""

    def to_base64(self) -> str:
        """The standard V2 compressed base64 form."""

    def record(self, value_ns: int) -> None:
        """Add one value; values above one hour count as one hour."""

    def merge(self, other: Histogram) -> None:
        """Add all of `other`'s values."""

    def subtract(self, other: Histogram) -> None:
        """Take all of `other`'s values away; ValueError when some are not here."""

    def percentile_ns(self, percentile: float) -> int:
        """The value that `percentile` (0 … 100) of all values do not exceed; 0 when empty."""

    @property
    def count(self) -> int: ...
    @property
    def min_ns(self) -> int: ...
    @property
    def max_ns(self) -> int: ...
    @property
    def mean_ns(self) -> float: ...

def thinned(histogram: Histogram, kept_ns: Sequence[int]) -> Histogram:
    """The same count, extremes, mean, counts below and at each of these; less in between."""
