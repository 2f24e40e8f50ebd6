"""The stage of a case's runs: a link that is up, cores, and the processes at both ends.

Processes are started when they are first asked for, and stay until the stage ends: one run after
the other may be made on it, and several stages may be up side by side, whose cases take turns.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, TypeVar, cast

from msgspec import Struct, field

from tinygram_bench.host.network import Network
from tinygram_bench.host.packages import missing_for_tls
from tinygram_bench.host.placement import Placement
from tinygram_bench.host.probes.kernel import Counted, counters_in
from tinygram_bench.host.write_counter import Counting
from tinygram_bench.hosts.clock import FRESH_NS
from tinygram_bench.hosts.far_host import FarHost
from tinygram_bench.links import Link
from tinygram_bench.model.result import Case
from tinygram_bench.processes.attached import attached
from tinygram_bench.processes.children import Child, Told, answers, check_running
from tinygram_bench.processes.orders import Listening
from tinygram_bench.processes.workers import LISTEN_LIMIT_S, RunError, Worker
from tinygram_bench.tls.certificates import ELSEWHERE, Identity, new_identity

T = TypeVar("T")
_GRACE_S = 0.5


class Address(NamedTuple):
    """The address that a server listens on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read HOST:PORT, as plans have it. Raises ValueError for anything else."""
        host, _, port = text.rpartition(":")
        return cls(host, int(port))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Stage(Struct):
    """A link that is up, and what was started on it; all ends with `stack`.

    `far_host`: the host on which the far end is started; None: this machine. `where`: the cores;
    the near end is on the sender's. `placement`: the name of that, by which the far host picks a
    core of its own. `shown`: the certificate of the server that listens, PEM; None: it does not
    encrypt.
    """

    stack: ExitStack
    link: Link
    where: Placement
    counting: Counting
    far_host: FarHost | None = None
    placement: str = "none"
    children: list[Told] = field(default_factory=list)
    shown: str | None = None
    _made: dict[str, object] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The value of `make`, which is called only for the first run on this stage."""
        if name not in self._made:
            self._made[name] = make()
        return cast(T, self._made[name])

    def look_at_clock(self) -> None:
        """Look at the far host's clock, where there is one and nobody has just done so.

        Raises RunError.
        """
        if self.far_host is not None:
            self.far_host.clock.look(time.monotonic_ns() - FRESH_NS)

    def memory(self, name: str) -> int:
        """The descriptor of a file in memory that one of the two ends writes."""

        def make() -> int:
            fd = os.memfd_create(name)
            self.stack.callback(os.close, fd)
            return fd

        return self.once(name, make)

    def has(self, name: str) -> bool:
        """Whether an earlier run on this stage has made the value of that name."""
        return name in self._made

    def near(
        self, role: str, module: str, *, counts_writes: bool = False, pass_fds: Sequence[int] = ()
    ) -> Child:
        """The process of that role at the near end: a client or a sender. Raises RunError."""
        return self._child(
            self.link.near, role, module, self.where.sender_cpu, counts_writes, pass_fds
        )

    def far(
        self, role: str, module: str, *, counts_writes: bool = False, pass_fds: Sequence[int] = ()
    ) -> Told:
        """The process of that role at the far end: a server or a receiver. Raises RunError.

        `pass_fds`: the files that it writes; on another host it has files of its own, which are
        brought over.
        """
        host = self.far_host
        if host is not None:

            def start() -> Told:
                child = host.child(
                    self.stack,
                    role,
                    module,
                    self.placement,
                    counts_writes=counts_writes,
                    files=pass_fds,
                )
                self.children.append(child)
                return child

            return self.once(role, start)
        return self._child(
            self.link.far, role, module, self.where.receiver_cpu, counts_writes, pass_fds
        )

    def _child(
        self,
        host: Network,
        role: str,
        module: str,
        cpu: int | None,
        counts_writes: bool,
        pass_fds: Sequence[int],
    ) -> Child:
        def start() -> Child:
            environment = self.counting.environment() if counts_writes else None
            fds = [*pass_fds, self.counting.fd] if counts_writes else pass_fds
            with host.entered():
                child = Child(self.stack, role, module, cpu, environment, fds)
            self.children.append(child)
            return child

        return self.once(role, start)

    def standing(self, role: str) -> None:
        """Have runs fail when the far host is lost, on which nothing of this stage was started.

        `role`: what is there. Raises RunError.
        """
        host = self.far_host
        assert host is not None, "what all hosts of a cluster load is on another host"
        self.children.append(self.once("standing", lambda: host.standing(self.stack, role)))

    def far_identity(self) -> Identity:
        """The identity of the far end, whose key stays on its host: another host makes its own."""
        return self.identity() if self.far_host is None else ELSEWHERE

    def identity(self) -> Identity:
        """A certificate for this stage, and its key. Raises RunError where none can be made."""
        reason = missing_for_tls()
        if reason is not None:
            raise RunError(reason)
        return self.once("identity", new_identity)

    def certificate(self) -> str:
        """The certificate that clients trust, PEM: the server has shown it. Raises RunError."""
        if self.shown is None:
            raise RunError("the far end was to encrypt, and has shown no certificate")
        return self.shown

    def child(self, role: str) -> Told:
        """The process of that role, which was started before."""
        return cast(Told, self._made[role])

    def counters(self) -> Counted:
        """The kernel's counters on both hosts so far."""
        return counters_in(self.link.near, self.link.counter_fds)


class Turn:
    """One run of a case on its stage: what is asked, and the time that is left."""

    def __init__(
        self, stage: Stage, stack: ExitStack, case: Case, round: int, limit_s: float
    ) -> None:
        """`stack` ends with the run. `limit_s` counts from here, and anew from `begin`."""
        self.stage = stage
        self.stack = stack
        self.case = case
        self.round = round
        self.limit_s = limit_s
        self._made: dict[str, object] = {}
        self._watched: list[Worker] = []
        self._unwatched: list[Worker] = []
        self.begin()

    @property
    def link(self) -> Link:
        return self.stage.link

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The value of `make`, which is called only once in this run."""
        if name not in self._made:
            self._made[name] = make()
        return cast(T, self._made[name])

    def begin(self) -> None:
        """Give both ends their whole time from now on."""
        self.give_up_s = time.monotonic() + self.limit_s

    @property
    def listen_limit_s(self) -> float:
        """How long a server may take until it listens."""
        return min(LISTEN_LIMIT_S, self.case.parameters.timeout_ns / 1e9)

    def program(
        self,
        role: str,
        words: Sequence[str],
        *,
        is_watched: bool = True,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Worker:
        """Start a program that is not ours at the far end, for this run. Raises RunError.

        If it `is_watched`, hearing an answer fails when the program does; otherwise its end is only
        told.
        """
        with self.link.far.entered():
            worker = self.stack.enter_context(
                Worker(role, attached(words), environment=environment, pass_fds=pass_fds)
            )
        (self._watched if is_watched else self._unwatched).append(worker)
        return worker

    def listening(self, server: Told) -> Address:
        """The address of a server of ours that was told to listen. Raises RunError."""
        late = f"did not listen within {self.listen_limit_s:g} s"
        give_up_s = time.monotonic() + self.listen_limit_s
        (said,) = answers([server], Listening, give_up_s, late, self.stage.children)
        return self.at(said)

    def at(self, said: Listening) -> Address:
        """The address of a server that listens at the far end."""
        if said.certificate is not None:
            self.stage.shown = said.certificate
        return Address(self.link.far_address, said.port)

    def hear(self, child: Told, kind: type[T]) -> T:
        """The next answer of one process; see `hear_all`."""
        return self.hear_all([child], kind)[0]

    def hear_all(self, children: Sequence[Told], kind: type[T]) -> list[T]:
        """The next answer of each process; this sleeps until all have given one.

        Raises RunError when any process of the stage ends, and when time is up.
        """
        late = f"did not finish within {self.limit_s:g} s"
        everybody = self.stage.children
        return answers(children, kind, self.give_up_s, late, everybody, self._watched)

    def check_running(self) -> None:
        """Raises RunError where a process of the stage has ended, or its host was lost.

        The loss of a host shows on its control connection, maybe a moment later.
        """
        check_running(self.stage.children, self._watched, 2.0 if self.link.is_elsewhere else 0.0)

    @property
    def programs(self) -> Sequence[Worker]:
        """The programs that were started in this run."""
        return (*self._watched, *self._unwatched)

    @contextmanager
    def explaining(self, grace_s: float = _GRACE_S) -> Iterator[None]:
        """Have a failure of the block say which host was lost, and how an unwatched program ended.

        A program's connections end just before it does, so its end is waited for; when a host is
        lost, others on the stage are dismissed, and may be the first to fail. Raises RunError.
        """
        try:
            yield
        except RunError as failure:
            raise self._explained(failure, grace_s) from failure

    def _explained(self, failure: RunError, grace_s: float) -> RunError:
        cut_off = [child.process for child in self.stage.children if child.process.is_cut_off]
        lost = dict.fromkeys(each.failure for each in cut_off if each.failure)
        ended = [program for program in self._unwatched if program.wait_ended(grace_s)]
        said = str(failure)
        before = [each for each in lost if each not in said]
        how = (program.failure or f"the {program.role} has ended" for program in ended)
        after = [each for each in how if each not in said]
        return RunError("; ".join([*before, said, *after])) if before or after else failure

    def wait_ended(self, program: Worker) -> None:
        """Sleep until a program has succeeded. Raises RunError."""
        if not program.wait_ended(self.give_up_s - time.monotonic()):
            raise RunError(f"the {program.role} did not finish within {self.limit_s:g} s")
        if program.failure:
            raise RunError(program.failure)
