"""Conducts the rounds of a cluster: tells generators what to do, and leaves lost hosts out.

It does not depend on Ray: generators of any kind answer by futures. A round takes three questions
to each generator, however many cases it has: `begin`, `warm`, `measure`. Servers under test are
asked before, between the second and the third, and afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct, field

from tinygram_bench.cluster.merging import Part, merged
from tinygram_bench.cluster.order import BeginOrder, Measured, Moment, Offered, read
from tinygram_bench.cluster.shares import of_all, replied_bytes
from tinygram_bench.model.result import Case, Run
from tinygram_bench.workloads.echo.marks import ServerUsed

_SILENT_S = 6.0
"""A host that answers nothing at all for this time is lost."""
_ASK_AGAIN_S = 2.0
"""How often a host is asked whether it is there: seldom, because it is measuring."""
_LOOK_S = 0.5
_STRAGGLING_S = 10.0
"""How long a host may still take when half of the hosts have answered."""
_LEAD_S = 0.3
_LEAD_OF_A_HOST_S = 0.002
"""The time from finding a common start to that start: every host must be told by then."""

T = TypeVar("T")


class Lost(Struct, frozen=True):
    """A host that cannot go on, and why."""

    why: str


class Generator(Protocol):
    """A generator, wherever it is; questions and answers are JSON of the types in order.py."""

    @property
    def host(self) -> str: ...

    @property
    def server(self) -> str:
        """The host of its far end."""

    def ask(self, step: str, order: bytes) -> Future[bytes]:
        """Have it do a step. The future fails when its host is lost, or the step fails."""

    def end(self) -> None:
        """End whatever it is doing: it will be asked nothing any more."""


class Servers(Protocol):
    """The hosts of the far ends, and their clocks."""

    def starts(self, lead_s: float) -> Mapping[str, Moment | Lost]:
        """The moment `lead_s` from now on each server's clock, or why a server is lost."""


class ServersUnderTest(Protocol):
    """The servers under test of a round, one process for each case on each server's host."""

    def offer(
        self, of_hosts: Mapping[str, Sequence[Case]], round: int
    ) -> Mapping[str, Sequence[Offered] | Lost]:
        """Start the servers of these cases on each host, or say why a host is lost."""

    def rest(self, replied_bytes: Mapping[str, Sequence[int]]) -> None:
        """All generators of these hosts have warmed up; the servers have sent back so much."""

    def counted(
        self, replied_bytes: Mapping[str, Sequence[int]]
    ) -> Mapping[str, Sequence[ServerUsed | None]]:
        """What the servers of each case have used since; None, or no host: it is not known."""


class Conductor(Struct):
    """Runs cases on all generators at once; see `run_cases`.

    `shared_out`: each generator's share of a case. `tell` gets messages for the user.
    `under_test`: the servers that all generators load; None: each has far ends of its own.
    """

    generators: Sequence[Generator]
    shared_out: Callable[[Case], Sequence[Case]]
    servers: Servers
    tell: Callable[[str], None]
    silent_s: float = _SILENT_S
    straggling_s: float = _STRAGGLING_S
    under_test: ServersUnderTest | None = None
    lost: dict[str, str] = field(default_factory=dict)
    """Hosts that are left out from then on, and why."""
    messages: int = 0
    """How many questions were asked so far; each is answered, or its host is lost."""
    _shares: dict[str, Sequence[Case]] = field(default_factory=dict)

    def run_cases(self, cases: Sequence[Case], round: int) -> list[Run]:
        """Run these cases, which take turns, once; return a run of each, of all hosts together."""
        offered = self._offered(cases, round)
        asked = self._present()
        begun = self._asked(
            "begin",
            {
                each: BeginOrder(
                    tuple(self._own(each, case) for case in cases),
                    round,
                    tuple(offered.get(each, ())),
                )
                for each in asked
            },
            list[int],
        )
        # A slice, a pause, and a wait for each case (`Agreement`): on a cluster none share slices.
        count = 2 + len(cases)
        begun = self._fitting(begun, lambda each: len(each) == count, "the lengths of its slices")
        lengths = [max(each) for each in zip(*begun.values(), strict=True)]
        warm = self._asked("warm", dict.fromkeys(begun, lengths), type(None))
        if not warm:
            return self._merged(cases, round, {}, {})
        if self.under_test is not None:
            self.under_test.rest(self._replied_bytes(cases, warm))
        lead_s = _LEAD_S + _LEAD_OF_A_HOST_S * len(warm)
        starts = self._by_generator(self.servers.starts(lead_s), warm)
        found = self._asked(
            "measure", {each: start.at_ns for each, start in starts.items()}, Measured
        )
        names = [case.case_id for case in cases]
        found = self._fitting(
            found, lambda each: [run.case_id for run in each.runs] == names, "a run of each case"
        )
        counted = self._counted(cases, asked, found)
        bounds = {each: starts[each].bound_ns for each in found}
        return self._merged(cases, round, found, bounds, counted)

    def _offered(self, cases: Sequence[Case], round: int) -> dict[int, Sequence[Offered]]:
        """Each generator's servers under test; generators whose server is lost are left out."""
        if self.under_test is None:
            return {}
        present = self._present()
        of_hosts: dict[str, list[int]] = {}
        for each in present:
            of_hosts.setdefault(self.generators[each].server, []).append(each)
        together = {
            host: [of_all(case, [self._own(each, case) for each in numbers]) for case in cases]
            for host, numbers in of_hosts.items()
        }
        return self._by_generator(self.under_test.offer(together, round), present)

    def _replied_bytes(
        self,
        cases: Sequence[Case],
        numbers: Iterable[int],
        found: Mapping[int, Measured] | None = None,
    ) -> dict[str, list[int]]:
        """How much each server of a case has sent back to these generators.

        With `found` it is what they measured, too.
        """
        of_hosts: dict[str, list[int]] = {}
        for each in numbers:
            own = of_hosts.setdefault(self.generators[each].server, [0] * len(cases))
            for index, case in enumerate(cases):
                run = None if found is None else found[each].runs[index]
                own[index] += replied_bytes(self._own(each, case), run)
        return of_hosts

    def _counted(
        self, cases: Sequence[Case], asked: Sequence[int], found: Mapping[int, Measured]
    ) -> list[list[ServerUsed]]:
        """For each case, what its servers have used; nothing where a generator has failed.

        What they used for such a generator cannot be told apart from the rest. `asked`: those that
        were told to begin, even where no answer came: they may have connected, and warmed up.
        """
        if self.under_test is None or not found:
            return [[] for _ in cases]
        answers = self.under_test.counted(self._replied_bytes(cases, found, found))
        hosts = {self.generators[each].server for each in asked}
        whole = set(asked) == set(found) and answers.keys() == hosts
        counted: list[list[ServerUsed]] = []
        for index in range(len(cases)):
            of_case = [each[index] for each in answers.values()]
            known = [each for each in of_case if each is not None]
            failed = any(each.runs[index].failure is not None for each in found.values())
            counted.append(known if whole and len(known) == len(of_case) and not failed else [])
        return counted

    def _by_generator(
        self, answers: Mapping[str, T | Lost], numbers: Iterable[int]
    ) -> dict[int, T]:
        """What each generator's server answered; generators whose server is lost are left out."""
        kept: dict[int, T] = {}
        for number in numbers:
            server = self.generators[number].server
            answer = answers[server]
            if isinstance(answer, Lost):
                self._leave_out(number, f"its server {server} is lost: {answer.why}")
            else:
                kept[number] = answer
        return kept

    def _merged(
        self,
        cases: Sequence[Case],
        round: int,
        found: Mapping[int, Measured],
        bounds: Mapping[int, int],
        counted: Sequence[Sequence[ServerUsed]] = (),
    ) -> list[Run]:
        return [
            merged(
                case,
                round,
                [self._part(each, index, case, found, bounds) for each in self._all],
                counted[index] if counted else (),
            )
            for index, case in enumerate(cases)
        ]

    @property
    def _all(self) -> range:
        return range(len(self.generators))

    def _present(self) -> list[int]:
        return [each for each in self._all if self.generators[each].host not in self.lost]

    def _own(self, number: int, case: Case) -> Case:
        if case.case_id not in self._shares:
            self._shares[case.case_id] = self.shared_out(case)
        return self._shares[case.case_id][number]

    def _part(
        self,
        number: int,
        index: int,
        case: Case,
        found: Mapping[int, Measured],
        bounds: Mapping[int, int],
    ) -> Part:
        generator = self.generators[number]
        own = self._own(number, case)
        measured = found.get(number)
        if measured is None:
            lost = self.lost.get(generator.host, "it measured nothing in this round")
            return Part(generator.host, generator.server, own, None, lost=lost)
        error_ns = measured.step_error_ns
        return Part(
            generator.host,
            generator.server,
            own,
            measured.runs[index],
            None if error_ns is None else error_ns + bounds[number],
            measured.late_ns,
            step_fault=measured.step_fault,
        )

    def _asked(self, step: str, orders: Mapping[int, Any], kind: type[T]) -> dict[int, T]:
        """What each answers; those that are lost, or straggle, are left out from then on."""
        asked: dict[Future[bytes], int] = {}
        for number, order in orders.items():
            asked[self._ask(number, step, msgspec.json.encode(order))] = number
        answers: dict[int, T] = {}
        pings: dict[int, tuple[Future[bytes], float]] = {}
        half_s = None
        waiting = dict(asked)
        while waiting:
            done, _ = wait(waiting, _LOOK_S)
            for each in done:
                number = waiting.pop(each)
                try:
                    answer = read(each.result(), kind)
                except Exception as error:  # noqa: BLE001 - its host is left out, with this reason
                    self._leave_out(number, str(error) or type(error).__name__)
                else:
                    answers[number] = answer
            if half_s is None and 2 * len(answers) >= len(asked):
                half_s = time.monotonic()
            for each, number in list(waiting.items()):
                fault = self._silence(number, pings) or self._straggling(step, half_s)
                if fault is not None:
                    del waiting[each]
                    self._leave_out(number, fault)
        return dict(sorted(answers.items()))

    def _fitting(
        self, answers: Mapping[int, T], fits: Callable[[T], bool], what: str
    ) -> dict[int, T]:
        """The answers that fit; hosts of the others are left out, for they did not tell `what`."""
        for number, answer in answers.items():
            if not fits(answer):
                self._leave_out(number, f"it did not tell {what}")
        return {number: answer for number, answer in answers.items() if fits(answer)}

    def _ask(self, number: int, step: str, order: bytes) -> Future[bytes]:
        self.messages += 1
        return self.generators[number].ask(step, order)

    def _silence(self, number: int, pings: dict[int, tuple[Future[bytes], float]]) -> str | None:
        """Why a host is lost that does not even answer a ping; None: it does."""
        now_s = time.monotonic()
        ping, asked_s = pings.get(number, (None, -_ASK_AGAIN_S))
        if ping is not None and not ping.done():
            if now_s - asked_s > self.silent_s:
                return f"it has answered nothing for {self.silent_s:g} s"
            return None
        if ping is not None and (error := ping.exception()) is not None:
            return str(error)
        if now_s - asked_s > _ASK_AGAIN_S:
            pings[number] = self._ask(number, "ping", b""), now_s
        return None

    def _straggling(self, step: str, half_s: float | None) -> str | None:
        if half_s is None or time.monotonic() - half_s <= self.straggling_s:
            return None
        return (
            f"it straggled: {self.straggling_s:g} s after half of the hosts it had not finished "
            f"the step `{step}`"
        )

    def _leave_out(self, number: int, why: str) -> None:
        host = self.generators[number].host
        self.lost[host] = why
        self.tell(f"{host} is left out from now on: {why}")
        # Otherwise it would still send during the rounds of the others.
        self.generators[number].end()
