"""The far host of a measurement, on which a stage starts the processes of its far end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any

import tinygram
from tinygram_bench.host.network.connections import Known
from tinygram_bench.hosts.address import FarAddress
from tinygram_bench.hosts.clock import Clock
from tinygram_bench.hosts.clock_server import ClockOrder
from tinygram_bench.links import Link
from tinygram_bench.model.errors import UsageError
from tinygram_bench.processes.children import Told, answers
from tinygram_bench.processes.orders import Listening
from tinygram_bench.processes.workers import LISTEN_LIMIT_S, RunError

if TYPE_CHECKING:
    from tinygram_bench.hosts.keys import Keys
    from tinygram_bench.hosts.line import Line

_PATIENCE_S, _STEP_S = 3.0, 0.2
"""How long a restarted server may need until it listens, and the time between attempts."""


class FarChild(Told):
    """A process that the server on the far host started; it is ended with the stack."""

    def __init__(
        self,
        stack: ExitStack,
        line: Line,
        role: str,
        program: str,
        placement: str,
        *,
        counts_writes: bool,
        files: Sequence[int],
    ) -> None:
        """Raises RunError."""
        self._line = line
        process, channel, self._number = line.begin(
            role, program, placement, counts_writes=counts_writes, files=files
        )
        stack.callback(channel.close)
        super().__init__(process, channel)

    def cpu_ns(self) -> int:
        return self._line.used_ns(self._number)


class Standing(Told):
    """That the far host still stands, for stages none of whose processes is there."""

    def __init__(self, stack: ExitStack, line: Line, role: str) -> None:
        """Raises RunError."""
        process, channel = line.standing(role)
        stack.callback(channel.close)
        super().__init__(process, channel)

    def cpu_ns(self) -> int:
        """Not known: it is no process."""
        raise RunError(f"the {self.process.role} is no process of this stage")


class FarHost:
    """A host on which `tinygram serve` runs. A lost control connection is made again."""

    def __init__(self, address: FarAddress, keys: Keys | None = None) -> None:
        """Connect, and look at its clock. Raises UsageError and RunError.

        `keys` None: those that were pasted on this host are used.
        """
        self._address = address
        self._keys = keys
        self._stack = ExitStack()
        self._dead: str | None = None
        self._connect()

    @property
    def environment(self) -> dict[str, Any]:
        """The facts of that host, as it told them, and the name and port that it was asked for by.

        The name is in lower case.
        """
        address = {"host": self._address.host.lower(), "port": self._address.port}
        return self._line.welcome.environment | address

    def link(self) -> Link:
        """The link to it, for one run or many. Raises RunError where it cannot be reached."""
        self._reach()
        return Link(
            far_address=self._line.far_address,
            client=Known(token=self._line.welcome.token),
            is_elsewhere=True,
            round_trip_ns=self.clock.round_trip_ns,
        )

    def child(
        self,
        stack: ExitStack,
        role: str,
        program: str,
        placement: str,
        *,
        counts_writes: bool,
        files: Sequence[int],
    ) -> Told:
        """Start a process there, of a program that the server knows. Raises RunError."""
        return FarChild(
            stack,
            self._line,
            role,
            program,
            placement,
            counts_writes=counts_writes,
            files=files,
        )

    def standing(self, stack: ExitStack, role: str) -> Told:
        """What ends when that host is lost; `role`: what is there. Raises RunError."""
        return Standing(stack, self._line, role)

    def close(self) -> None:
        """End the connection, and the processes that were started there."""
        self._stack.close()

    def _connect(self) -> None:
        # Imported only here: it imports asyncio and ssl, which is slow, and most runs have no far
        # host.
        from tinygram_bench.hosts.line import Line

        with ExitStack() as stack:
            line = Line(self._address, tinygram.__version__, self._tell_queued, self._keys)
            stack.callback(line.close)
            self._line = line
            self.clock = self._clock(stack)
            self._stack = stack.pop_all()

    def _reach(self) -> None:
        """Raises RunError where the connection was lost, and cannot be made again."""
        # When the server is killed, the end of the clock's connection may be seen first.
        lost = self._line.failure or self.clock.failure
        if lost is None:
            return
        if self._dead is None:
            self._stack.close()
            give_up_s = time.monotonic() + _PATIENCE_S
            while (failure := self._connected_again()) is not None:
                if time.monotonic() > give_up_s:
                    self._dead = f"{lost}, and it cannot be made again: {failure}"
                    break
                time.sleep(_STEP_S)
        if self._dead is not None:
            raise RunError(self._dead)

    def _connected_again(self) -> str | None:
        """Connect; return why that failed, None where it did not."""
        try:
            self._connect()
        except (UsageError, RunError) as failure:
            return str(failure)
        return None

    def _clock(self, stack: ExitStack) -> Clock:
        """Raises RunError."""
        server = FarChild(
            stack,
            self._line,
            "clock",
            "tinygram_bench.hosts.clock_server",
            "none",
            counts_writes=False,
            files=(),
        )
        server.tell(ClockOrder())
        give_up_s = time.monotonic() + LISTEN_LIMIT_S
        (said,) = answers([server], Listening, give_up_s, "did not listen in time", [server])
        clock = Clock(self._line.far_address, said.port, self._line.welcome.token)
        stack.enter_context(closing(clock))
        clock.look()
        return clock

    def _tell_queued(self, before: int) -> None:
        who = "another client" if not before else f"another client, and {before} wait before us"
        print(
            f"tinygram: --server {self._address.text} serves {who}; waiting for our turn",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def reached(address: FarAddress | None) -> Iterator[FarHost | None]:
    """The far host until the block's end; None where there is none. Raises UsageError."""
    if address is None:
        yield None
        return
    try:
        host = FarHost(address)
    except RunError as failure:
        raise UsageError(f"--server {address.text}: {failure}") from failure
    with closing(host):
        yield host
