"""Links: what lies between the two hosts of a run. `--link wifi --link lan-1g`.

A workload names its link in the case (`plan_over`), and brings it up for each run (`link_up`): the
server is started on `link.far`, listens on `link.far_address`, and the client on `link.near`
connects there. A command that wants links calls `prepare` once, before anything is started.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from tinygram_bench.links import sandbox
from tinygram_bench.links.backends import BACKENDS, EMULATING, LOOPBACK, NETEM, RELAY, VETH, Backend
from tinygram_bench.links.link import FAR_VARIABLE, LOCALHOST, Link
from tinygram_bench.links.sandbox import has_own_proc
from tinygram_bench.links.spec import PRESETS, LinkSpec, parse_link, parse_links
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Case, Plan, Unavailable, Warning
from tinygram_bench.processes.workers import RunError

__all__ = [
    "BACKEND_NAMES",
    "DEFAULT_BACKEND",
    "FAR_VARIABLE",
    "LOCALHOST",
    "PRESETS",
    "Link",
    "LinkSpec",
    "backend_of",
    "bring_up",
    "has_own_proc",
    "link_up",
    "parse_link",
    "parse_links",
    "plan_over",
    "prepare",
]

DEFAULT_BACKEND = RELAY.name
BACKEND_NAMES = tuple(name for name in BACKENDS if name != LOOPBACK.name)
"""What `--link-backend` takes."""


def prepare(links: Sequence[LinkSpec], backend_name: str) -> None:
    """Enter namespaces where links may be made, and check that these can. Raises UsageError.

    Nothing happens for loopback, or for a link to another machine. Where netem is asked for and the
    kernel has none, that is said on stderr, and the relay takes its place.
    """
    made = [link for link in links if not (link.is_loopback or link.is_remote)]
    if not made:
        return
    backends = dict.fromkeys(backend_of(link, backend_name) for link in made)
    sandbox.enter()
    for backend in backends:
        maker = _maker(backend)
        if maker is not backend:
            refused = _probed(backend)
            print(
                f"tinygram: no netem here: {refused.why}; going on with the relay "
                f"({refused.remedy})",
                file=sys.stderr,
                flush=True,
            )
        permission = _probed(maker)
        if not permission.is_given:
            raise UsageError(
                f"the link cannot be made here: {permission.why}; {permission.remedy}; "
                "`tinygram emulate --check` shows what this machine permits"
            )


def _maker(backend: Backend) -> Backend:
    """The backend that really makes the links: the relay, for netem where the kernel has none."""
    return RELAY if backend is NETEM and not _probed(NETEM).is_given else backend


@lru_cache
def _probed(backend: Backend) -> sandbox.Permission:
    return backend.probe()


def plan_over(
    links: Sequence[LinkSpec], backend_name: str, make: Callable[[LinkSpec], Plan]
) -> Plan:
    """The plans that `make` makes for each link, as one plan. Raises UsageError."""
    plans = []
    for link in links:
        if not link.is_remote:
            backend_of(link, backend_name)
        plans.append(_with_backend(make(link), link, backend_name))
    first = plans[0]
    return Plan(
        cases=tuple(case for plan in plans for case in plan.cases),
        rounds=first.rounds,
        seed=first.seed,
        unavailable=tuple(each for plan in plans for each in plan.unavailable),
    )


def link_up(case: Case, seed: int) -> AbstractContextManager[Link]:
    """The case's link, for one run. Raises OSError and RunError."""
    spec = parse_link(case.link)
    backend = backend_of(spec, case.parameters.link_backend or DEFAULT_BACKEND)
    return bring_up(spec, backend, seed)


@contextmanager
def bring_up(spec: LinkSpec, backend: Backend, seed: int) -> Iterator[Link]:
    """A link by this backend, or by the one in its place. Raises OSError and RunError.

    A failure of the block while the link carries nothing is reported as the link's fault.
    """
    maker = _maker(backend)
    with maker.up(spec, seed) as link:
        if maker is not backend:
            message = "netem was asked for, and the relay made the link"
            warning = Warning("link_backend", f"{message}: {_probed(backend).why}")
            link = replace(link, warnings=(*link.warnings, warning))
        try:
            yield link
        except (OSError, RunError) as failure:
            fault = link.find_fault()
            if fault is None or str(failure) == fault:
                raise
            raise RunError(f"{fault} ({failure})") from failure


def backend_of(link: LinkSpec, backend_name: str) -> Backend:
    """The backend that makes the link. Raises UsageError where it is unknown, or cannot make it."""
    if backend_name not in BACKEND_NAMES:
        raise UsageError(
            f"unknown link backend {backend_name!r}: the known ones are {', '.join(BACKEND_NAMES)}"
        )
    if not link.is_emulated:
        return LOOPBACK if link.is_loopback else VETH
    if backend_name not in EMULATING:
        raise UsageError(
            f"--link-backend {backend_name} has no delay, bandwidth or loss, and {link.text} "
            f"has: name another backend ({', '.join(EMULATING)}) or the link veth"
        )
    return BACKENDS[backend_name]


def _with_backend(plan: Plan, link: LinkSpec, backend_name: str) -> Plan:
    if not link.is_emulated:
        return plan

    def named(case: Case) -> Case:
        if case.link != link.text:
            return case
        parameters = msgspec.structs.replace(case.parameters, link_backend=backend_name)
        return msgspec.structs.replace(case, parameters=parameters)

    return msgspec.structs.replace(
        plan,
        cases=tuple(map(named, plan.cases)),
        unavailable=tuple(Unavailable(named(each.case), each.reason) for each in plan.unavailable),
    )
