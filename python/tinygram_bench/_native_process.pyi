"""The part of the stub of `_native` that is about processes, calls and sockets; not a module."""

from collections.abc import Sequence

def give_up_capabilities() -> None:
    """Give up all capabilities, of the calling thread and of what it starts from now on. OSError.

    No program that is executed gets any again (PR_SET_NO_NEW_PRIVS).
    """

def die_with_parent(parent_pid: int) -> None:
    """Be killed when the parent dies; OSError when it already has."""

def set_process_name(name: str) -> None:
    """Name this process, as ps and pgrep show it (15 bytes are kept)."""

def set_exact_timers(is_exact: bool) -> None:
    """Whether sleeps of the calling thread end on time, or up to 50 µs later, as is usual."""

def create_network_namespace() -> tuple[int, int]:
    """Make a network: descriptors of (ours, the new one); we stay in ours. OSError (EPERM)."""

def enter_network_namespace(fd: int) -> None:
    """Move the calling thread into a namespace; processes that it starts are born there."""

def count_writes_library() -> bytes:
    """The shared library that counts a process's writes when it is preloaded."""

def watch_writes(fds: Sequence[int]) -> bool:
    """Count the writes to these sockets alone from now on, through any descriptor of them.

    All descriptors that this process has of the sockets now are watched. Returns False where the
    counting library is not preloaded. Raises OSError.
    """

def watch_more_writes(fds: Sequence[int]) -> bool:
    """Like `watch_writes`, for these sockets beside those that are counted already."""

def write_counts() -> tuple[int, int, int] | None:
    """(writes, bytes, calls that found the buffer full) so far; None where not preloaded."""

def count_instructions() -> bool:
    """Count those that this process retires in user space, by threads and children to come, too.

    Whether they are counted: neither every machine nor every user may.
    """

def instructions() -> int | None:
    """How many so far; None where they are not counted, or were for a part of the time only."""

def call_times() -> list[tuple[str, int]] | None:
    """What `Counted` of host/probes/calls.py is made of, so far; None where not preloaded."""

def send_queue_bytes(fd: int) -> int:
    """Bytes in a TCP socket's send queue, not sent or not acknowledged (SIOCOUTQ). OSError."""

def tcp_info(fd: int) -> list[tuple[str, int]]:
    """Named fields of TCP_INFO, units in the names. OSError when `fd` is no TCP socket."""

def io_uring_refusal() -> str | None:
    """Why the kernel does not let this process send by io_uring(7); None: it does."""
