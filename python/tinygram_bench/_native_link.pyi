"""The part of the stub of `_native` that links need (crates/link); not a module.

A link lies between two network namespaces, `near` (the client's and sender's side) and `far` (the
server's and receiver's), made with `create_network_namespace`. Descriptors that are returned are
the caller's to close. OSError has its errno: what the kernel refused is in its text.
"""

from typing import TypeAlias, final

from tinygram_bench._native import Histogram

LinkDirection: TypeAlias = tuple[int, int, int | None, float, int, int]
"""(one_way_ns, jitter_ns, bandwidth_bits_per_s, loss, queue_bytes, mtu_bytes) of one direction.

Only in this stub. Jitter is added: uniform from 0 to `jitter_ns`, order kept. Bandwidth None:
unlimited, then there is no queue. Loss is a share, 0 ≤ loss < 1. The queue and the bandwidth count
IP packets and ETHERNET_BYTES each, so a queue has at least mtu_bytes + ETHERNET_BYTES.
"""

_Counters: TypeAlias = list[tuple[str, int]]

ETHERNET_BYTES: int
"""What a packet adds on the line: preamble, header, checksum, and the gap between frames."""

OFFLOADED_BYTES: int
"""The longest packet that the relay takes of a TUN device with segmentation offload."""

PING_PONG_BYTES: int
"""Size of a datagram of `ping_pong_ns`, with the headers of UDP and IP."""

CALIBRATION_DELAY_NS: int
"""While a link is calibrated its delay is this at most, each way, so that it does not take long."""

CALIBRATION_BITS_PER_S: int
"""While a link is calibrated its bandwidth is this at least."""

RTT_FLOOR_NS: int
"""The shortest round trip that may be asked for: what the relay itself takes on a quick host."""

@final
class LinkRelay:
    """Carries IPv4 packets between two devices as a link would: one thread, no Python.

    `each_way`: what either direction is like. The losses of each are its own, by `seed`.

    `framing`: `tun` or `tun-offload`, TUN devices without or with offload;
    `ethernet`, packet sockets (links/devices.py). The relay has copies of them: the caller may
    close its own once it is made, and the devices go with both. The thread ends with `stop` or the
    object. ValueError names an impossible value of a direction, and what is allowed; also for an
    unknown framing. OverflowError for negative values.
    """

    def __new__(
        cls,
        near_fd: int,
        far_fd: int,
        each_way: LinkDirection,
        seed: int,
        framing: str,
    ) -> LinkRelay: ...
    def start(self) -> None:
        """Start the thread. OSError: it cannot start, or has been started before."""

    def calibrate(
        self, near_namespace_fd: int, far_namespace_fd: int, far_address: str
    ) -> _Counters:
        """Find what the relay and the host add to a round trip, and take it off. Some 0.8 s.

        Ping-pongs (UDP) without jitter and loss, and at 10 ms at most. Half of what is above the
        round trip asked for is taken off each direction (`set_excess_ns`). Named: `asked_rtt_ns`
        (of these packets), `found_rtt_ns` before and `left_rtt_ns` after (medians), and
        `excess_ns`. OSError; TimeoutError: no answer comes.
        """

    def set_excess_ns(self, excess_ns: int) -> None:
        """Take half of this off the delay of each direction, in place of what was before."""

    def counters(self) -> _Counters:
        """What happened since the start.

        Of each direction, after `near_to_far_` or `far_to_near_`: `packets` and `bytes` (delivered,
        of IP), and what was dropped: `lost` (as asked), `full` (the queue was), `overflow` (more
        was on the way than the relay keeps), `refused` (the far device did not take it), `ignored`
        (not IPv4, or not an IP packet's length), `missed` (a packet socket had no room for it).
        Of the near host's packets of TCP with data, `near_to_far_data_packets`: how many left
        within 0.1 ms after one of their connection came in (`…_after_arrival`), and how many when
        all that it had sent before was acknowledged (`…_alone`).
        `relay_cpu_ns`: of the relay's thread. `relay_stops` and `relay_stopped_ns`: how often, and
        how long in all, it stood still for more than 10 ms, of `relay_watched_ns`, in which it
        ran. `relay_failed_errno`: 0 while it runs, else why it
        carries nothing any more.
        """

    def take_lateness(self) -> Histogram:
        """How late packets were delivered, in ns, since this was last called; never early.

        From when a packet is due to when the relay begins to hand it to the device, with the time
        for which the relay itself stood still. What the relay does not see, such as the wake-up of
        the program, is in the calibration.
        """

    def take_stood_still_ns(self) -> list[tuple[int, int]]:
        """From when until when the relay stood still, since this was last called.

        Times of CLOCK_MONOTONIC in ns; together they are as long as `relay_stopped_ns`.
        """

    def stop(self) -> None:
        """End the thread; what is on the way is lost. The figures stay. May be called twice."""

def ping_pong_ns(
    near_namespace_fd: int, far_namespace_fd: int, far_address: str, count: int
) -> list[int]:
    """Round trips of `count` UDP datagrams, one after the other, seen by the program that waits.

    Those of which no answer comes within 2 s are left out, and after the fifth it is over.
    OSError; TimeoutError when no answer came at all. ValueError unless 1 ≤ count ≤ 1,000,000.
    """

def enter_pid_namespace(has_user_namespace: bool) -> bool:
    """Go on as a child in a PID namespace of its own: nothing that it starts outlives it.

    The caller's process stays outside: it passes on what it is told to end by, and ends with the
    child's exit code, or 128 + the signal. Between them PID 1 reaps. When any of the three is
    killed, all end. Call it first, with nothing printed that is not flushed, and from the main
    thread; other threads are not in the child. With `has_user_namespace`, for users other than
    root, the child is root of a user namespace and in a new, empty network.

    Returns whether /proc shows the new namespace's processes: where it does not, process ids of
    os.getpid() are not those of /proc. OSError: EPERM, EACCES, ENOSPC, EINVAL (there are other
    threads); nothing was changed then, unless it names what comes after.
    """

def pid_namespace_refusal(has_user_namespace: bool) -> int | None:
    """The errno with which `enter_pid_namespace` would be refused; None: it is permitted.

    A child tries it and ends at once, so nothing changes here. OSError: no child could be made.
    """
