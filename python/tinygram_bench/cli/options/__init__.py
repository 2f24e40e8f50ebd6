"""The options that all measuring commands have, each declared once, and their checks."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

import typer
from msgspec import Struct
from msgspec.structs import replace

from tinygram_bench.cli import quantities
from tinygram_bench.cli.bounds import between, one_of, probe_interval_ns, read
from tinygram_bench.cli.measuring import Manner
from tinygram_bench.crosscheck.control import common_congestion_control
from tinygram_bench.host.network.settings import permitted_congestion_control
from tinygram_bench.host.placement import PLACEMENTS, default_placement, placement
from tinygram_bench.hosts.address import FarAddress, greets, names_port, parse_server
from tinygram_bench.hosts.wire import PORT
from tinygram_bench.links import (
    BACKEND_NAMES,
    DEFAULT_BACKEND,
    PRESETS,
    LinkSpec,
    parse_link,
    parse_links,
    plan_over,
    prepare,
)
from tinygram_bench.links.spec import CUSTOM_EXAMPLE, REMOTE
from tinygram_bench.measurement.resuming import whole_rounds_of
from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.parameters import DEFAULT_CONGESTION_CONTROL
from tinygram_bench.model.result import Plan
from tinygram_bench.model.store import Destination
from tinygram_bench.model.units import format_duration_ns
from tinygram_bench.runs.foreign_server import ANSWER_LIMIT_S

if TYPE_CHECKING:
    from tinygram_bench.cluster.running import ClusterAsked

Asked = TypeVar("Asked", bound=Struct)

_RTT = re.compile(r"\brtt=[^,]+")

Rounds = Annotated[
    int, quantities.count("How often each case is run; verdicts need six rounds.", "7")
]
Seed = Annotated[int, quantities.count("Seed for the messages and the order of the runs.", "1")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print neither progress nor tables.")]
Notes = Annotated[
    bool,
    typer.Option(
        "--notes", help="Also print every note, the expert tables and how to read the figures."
    ),
]
Link = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LINK",
        help=f"What lies between the two ends: loopback, veth, {', '.join(PRESETS)}, or a link of "
        f"your own such as {CUSTOM_EXAMPLE} (repeatable).",
        show_default="loopback",
        autocompletion=lambda: ["loopback", "veth", *PRESETS],
    ),
]
LinkBackend = Annotated[
    str,
    typer.Option(
        metavar="BACKEND",
        help=f"What emulates the links: {', '.join(BACKEND_NAMES)}.",
        autocompletion=lambda: list(BACKEND_NAMES),
    ),
]
Pin = Annotated[
    str | None,
    typer.Option(
        metavar="PLACEMENT",
        help="Cores for the two ends: apart (one each), same (one for both) or none (the kernel "
        "chooses).",
        show_default="apart",
        autocompletion=lambda: list(PLACEMENTS),
    ),
]
Probe = Annotated[
    int | None,
    quantities.duration("Sample the kernel's queues at this interval, for example 10ms."),
]
CongestionControl = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Congestion control for all sockets.",
        show_default=f"{DEFAULT_CONGESTION_CONTROL}; reno where this user may not choose that",
    ),
]
Published = Annotated[
    bool, typer.Option("--published", help="Show the published figures beside ours.")
]
Tls = Annotated[
    bool,
    typer.Option(
        "--tls",
        help="Measure over TLS 1.3, with a certificate that is made for the run (extra `tls`).",
    ),
]
Plain = Annotated[
    bool, typer.Option("--plain", help="With --tls: measure each way without TLS, too.")
]
Awake = Annotated[
    bool,
    typer.Option(
        "--awake",
        help="Keep this host's idle cores from sleeping during the measurement (needs root; over "
        "emulated links this is always tried). With another host as the far end, or a cluster, the "
        "other hosts' cores may still sleep.",
    ),
]
Wait = Annotated[
    bool,
    typer.Option("--wait", help="Wait until no other measurement uses the same cores."),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Continue an interrupted measurement from its result file, with its original options. "
        "An unfinished round is run again.",
        show_default=False,
    ),
]
Anonymous = Annotated[
    bool,
    typer.Option(
        "--anonymous",
        help="Leave host name, user name, directories and server address out of the result.",
    ),
]
_FAR = f"Host on which `tinygram serve` runs, as the far end (port {PORT} unless named)"
FarServer = Annotated[str | None, typer.Option(metavar="HOST[:PORT]", help=f"{_FAR}.")]
Server = Annotated[
    str | None,
    typer.Option(
        metavar="HOST[:PORT]",
        help=f"{_FAR}; or HOST:PORT of another program's server to measure, which is called once "
        f"before the first round, and must answer within {ANSWER_LIMIT_S:g} s.",
    ),
]


NO_CERTIFICATE = "only our own servers have a certificate, which is made for the run"
"""The reason why `--tls` does not go with other programs' servers."""


def with_tls(tls: bool, plain: bool) -> tuple[bool, ...]:
    """Whether each way is measured over TLS, in plain, or both. Raises UsageError."""
    if plain and not tls:
        raise UsageError("--plain needs --tls: without it every way is measured in plain alone")
    return (False, True) if plain else (tls,)


def names(
    metavar: str,
    what: str,
    default: str | None = None,
    known: Callable[[], list[str]] | None = None,
) -> Any:
    """An option that takes a name, and may be given several times; `what` says of what it is one.

    `default`: in words, what there is without it. `known`: names for completion in shells.
    """
    return typer.Option(
        metavar=metavar,
        help=f"{what} (repeatable).",
        show_default=default or False,
        autocompletion=known,
    )


def result_file(workload: str) -> Any:
    path = f"results/<UTC time>-{workload}.json"
    return typer.Option(
        metavar="FILE",
        help="Result file, or - for standard output (tables then go to standard error). An "
        "existing file is replaced once the first round is finished.",
        show_default=path,
    )


class Shared(TypedDict):
    """The options that every workload has, by name."""

    congestion_control: str
    link: str
    placement: str
    probe_ns: int | None
    rounds: int
    seed: int


class Links(Struct, frozen=True):
    specs: tuple[LinkSpec, ...]
    backend: str = DEFAULT_BACKEND

    def check_loopback(self, option: str, why: str) -> None:
        """Raise UsageError for a link beside `option`, which goes with loopback only."""
        if not all(link.is_loopback for link in self.specs):
            given = "--server" if any(link.is_remote for link in self.specs) else "--link"
            raise UsageError(f"{given} cannot be combined with {option}: {why}")

    def planned(self, asked: Asked, plan: Callable[[Asked], Plan]) -> Plan:
        """What `plan` makes of `asked` over each link, as one plan; prepares the links, too.

        Call this when all else is checked, before anything is started. Raises UsageError.
        """
        made = self.over(asked, plan)
        self.prepare()
        return made

    def over(self, asked: Asked, plan: Callable[[Asked], Plan]) -> Plan:
        """What `plan` makes of `asked` over each link, as one plan. Raises UsageError."""
        return plan_over(
            self.specs, self.backend, lambda link: plan(replace(asked, link=link.text))
        )

    def prepare(self) -> None:
        """Go on in a place where such links can be made. Raises UsageError."""
        prepare(self.specs, self.backend)

    def at_rtt(self, rtt_ns: float) -> Links:
        """The same links with this RTT; loopback becomes an emulated link without a bandwidth.

        Raises UsageError.
        """
        rtt = f"rtt={format_duration_ns(round(rtt_ns))}"
        if any(link.is_remote for link in self.specs):
            raise UsageError("--sweep rtt makes links, and --server has its own: leave out one")
        texts = [_RTT.sub(rtt, each.meaning) if each.is_emulated else rtt for each in self.specs]
        return Links(tuple(map(parse_link, texts)), self.backend)


def far_end(server: str | None, *, is_ours: bool = False) -> FarAddress | None:
    """The host of `--server`, if `tinygram serve` runs there; None for another program's server.

    The greeting of the server tells which of the two it is. The server is not asked, and taken to
    be ours, where no port or our own port is named, and where `is_ours`. Raises UsageError.
    """
    if server is None:
        return None
    address = parse_server(server)
    is_ours = is_ours or not names_port(server) or address.port == PORT
    return address if is_ours or greets(address) else None


def links(
    names: list[str] | None,
    backend: str,
    server: str | None = None,
    far: FarAddress | None = None,
    *,
    is_cluster: bool = False,
) -> Links:
    """The links that were named; loopback where none was. Raises UsageError.

    `server`: a server that runs already, outside our hosts. `far`: the far host of `--server`.
    `is_cluster`: both ends are hosts of a cluster.
    """
    one_of("--link-backend", backend, BACKEND_NAMES)
    if far is not None:
        if names:
            raise UsageError(
                f"--link cannot be combined with --server {far.text}: what lies between the two "
                "hosts is there already"
            )
        return Links((parse_link(REMOTE),), backend)
    if is_cluster:
        return Links((parse_link(REMOTE),), backend)
    if REMOTE in (names or ()):
        raise UsageError("--link remote is what --server HOST measures over: name the host")
    found = Links(tuple(read("--link", parse_links, names)), backend)
    if server is not None:
        found.check_loopback(f"--server {server}", "that is on no host of ours")
    return found


def manner(
    quiet: bool,
    published: bool,
    notes: bool,
    awake: bool,
    wait: bool,
    far: FarAddress | None = None,
    cluster: ClusterAsked | None = None,
) -> Manner:
    """How to measure and show, from the options of these names; `far`: the host of `--server`."""
    return Manner(
        is_quiet=quiet,
        is_published=published,
        with_notes=notes,
        is_awake=awake,
        waits=wait,
        far=far,
        cluster=cluster,
    )


def shared(
    rounds: int,
    seed: int,
    links: Links,
    pin: str | None,
    congestion_control: str | None,
    probe: int | None,
    *,
    is_cross_check: bool = False,
) -> Shared:
    """The shared options, with the defaults in place of None. Raises UsageError.

    `is_cross_check`: use a congestion control that other programs can be given, too.
    """
    if is_cross_check:
        links.check_loopback("--cross-check", "other programs run beside ours on loopback alone")
    pin = default_placement() if pin is None else one_of("--pin", pin, PLACEMENTS)
    placement(pin)
    is_elsewhere = any(link.is_remote for link in links.specs)
    control = permitted_congestion_control(congestion_control, is_elsewhere=is_elsewhere)
    if is_cross_check:
        control = common_congestion_control(congestion_control)
    return Shared(
        congestion_control=control,
        link=links.specs[0].text,
        placement=pin,
        probe_ns=probe_interval_ns(probe),
        rounds=between("--rounds", rounds, 1, 10_000),
        seed=between("--seed", seed, 0, (1 << 63) - 1),
    )


def destination(
    workload: str, asked: Path | None, resumed: Path | None, is_anonymous: bool
) -> Destination:
    """Where the result goes; `resumed`: the file of a measurement that is continued.

    Raises UsageError where it cannot be continued, and OutputError where nothing can be written.
    """
    if resumed is not None:
        found = Destination.resumed(resumed, whole_rounds_of)
    elif asked is None:
        found = Destination(store.default_path(workload, datetime.now(UTC)), is_claimed=False)
    else:
        found = Destination(asked)
    found.is_anonymous = is_anonymous
    found.check()
    return found
