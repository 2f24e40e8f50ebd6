"""What a workload declares about its runs; the bench does everything else (bench.py)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from tinygram_bench.host.placement import Placement, placement
from tinygram_bench.model.result import Case, Plan, Run
from tinygram_bench.processes.children import Told
from tinygram_bench.processes.orders import Listening
from tinygram_bench.runs.slices import Slices, Used
from tinygram_bench.runs.stage import Address, Turn


class Exchanged(Struct, frozen=True):
    """The outcome of an exchange: `start_ns` is when the measured part began, CLOCK_MONOTONIC."""

    run: Run
    start_ns: int


class Rehearsed(Struct, frozen=True):
    """How long a message of a case takes, about, in ns, and how many are sent at a time.

    Slices are so long that each has a few messages of the slowest case; 0: that length is known
    without a rehearsal.
    """

    message_ns: int = 0
    at_a_time: int = 1


class Waiting(Struct, frozen=True):
    """A case that has warmed up, and waits for its first slice.

    `pids`: the processes whose CPU time is the case's; `resting_pids`: those at its other
    end, which rest between its slices, too. Both are empty where nobody here knows them. `start`
    tells when the first cycle begins (CLOCK_MONOTONIC, ns). `answering`: the processes that answer
    when the case's slices are over; then `collect` is called, which raises RunError.
    """

    pids: tuple[int, ...]
    resting_pids: tuple[int, ...]
    answering: Sequence[Told]
    start: Callable[[int], None]
    collect: Callable[[Used], Exchanged]


class Workload(ABC):
    """How the two ends of a run are told what to do, and how its figures are put together."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def server_address(self, case: Case) -> Address | None:
        """The address of a server that runs already, and was not started by us: `--server`."""
        address = getattr(case.parameters, "server_address", None)
        return None if address is None else Address.parse(address)

    def where(self, case: Case) -> Placement:
        """The cores of the two ends."""
        return placement(case.placement)

    def limit_s(self, case: Case) -> float:
        """How many seconds an exchange may take."""
        return case.parameters.timeout_ns / 1e9

    @abstractmethod
    def listen(self, turn: Turn) -> Address | None:
        """Have the far end listen; None where there is none. Raises OSError and RunError."""

    @abstractmethod
    def exchange(self, turn: Turn, address: Address | None) -> Exchanged:
        """Have the near end exchange with the far end what the case asks for. Raises RunError."""

    def foreign_server(self, case: Case) -> str | None:
        """The option and value that named a server which is not ours; None: it is ours."""
        address = self.server_address(case)
        return None if address is None else "--server {}:{}".format(*address)

    def first_call(self, plan: Plan) -> tuple[bytes, int]:  # noqa: ARG002 - others look
        """The bytes to send a foreign server to see that it answers, and how many come back.

        By default nothing is sent, and the server must only end the connection after us.
        """
        return b"", 0


class TakesTurns(Workload):
    """A workload whose cases take turns in slices.

    `is_timed_one_way`: its messages' times begin on one of two hosts, and end on the other.
    """

    is_timed_one_way = False

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.offered: Mapping[str, Callable[[], Listening]] = {}
        """case_id → where a server listens that several hosts load; raises RunError where it
        could not be started. Other cases have far ends of their own."""

    def listen_to_offered(self, turn: Turn) -> Address:
        """The address of the server that several hosts load. Raises RunError."""
        listening = self.offered[turn.case.case_id]()
        turn.stage.standing("server of all hosts")
        return turn.at(listening)

    def at_once(self, case: Case) -> str:
        """The key of the cases that share a stage and slices: by default, each case has its own."""
        return case.case_id

    @abstractmethod
    def own_ns(self, case: Case) -> int:
        """How long the slices of a case are together, in ns."""

    @abstractmethod
    def waits_ns(self, case: Case) -> int:
        """How long messages may be on their way after a slice, beside their time here, in ns."""

    def waits_elsewhere_ns(self, case: Case) -> int:
        """The same where the far end is on another host, without the round trip to that host."""
        return self.waits_ns(case)

    def start_far(self, turn: Turn) -> None:
        """Start our process at the far end, so that it gets ready for `listen` meanwhile.

        Raises RunError. A workload need not do this: `listen` starts what it finds missing.
        """

    def start_near(self, turn: Turn) -> None:
        """Start our process at the near end, when the far end listens. Raises RunError."""

    def rehearsed(self, turn: Turn, address: Address | None) -> Rehearsed:  # noqa: ARG002 - others do
        """Have the near end try what it will do in slices. Raises RunError."""
        return Rehearsed()

    @abstractmethod
    def warmed_up(self, turn: Turn, address: Address | None, slices: Slices) -> Waiting:
        """Have the near end connect and warm up for its slices. Raises RunError."""


class Alternates(Workload):
    """A workload the single samples of whose cases alternate."""

    @abstractmethod
    def alternated(self, turn: Turn, cases: Sequence[Case]) -> Sequence[Run]:
        """Have both ends exchange what is asked for of each case, in turns by single samples.

        A case that fails has a run that says so. Raises OSError and RunError where all fail.
        """
