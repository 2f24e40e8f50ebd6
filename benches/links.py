"""How accurate emulated links are, seen by programs that know nothing of them (link_probe.c).

Each figure is the median of several runs, each over a link of its own, which is calibrated anew.
Idle cores are kept awake meanwhile, as `tinygram` does over links, where that is permitted. The
table goes to stdout, and with `--page docs/links.md` between the marks of that page.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from published.pages import fill

from tinygram_bench.host.awake import cores_awake
from tinygram_bench.host.network import Network
from tinygram_bench.host.probes.environment import environment
from tinygram_bench.links import Link, backend_of, bring_up, parse_link, parse_links, prepare
from tinygram_bench.links.backends.relay import forget_calibrations
from tinygram_bench.model.errors import UsageError

_RUNS = 9
_PINGS = 2_000
_BULK_MS = 3_000
_TCP_PAYLOAD = 1_448 / 1_538
"""Share of the line: an MSS with timestamps, and a packet of 1,500 bytes with Ethernet's 38."""
_DATAGRAM_BYTES, _ON_THE_LINE_BYTES = 1_472, 1_538
_STOP_NS = 100_000
_LIMIT_S = 60.0
_LEAST_RATE = 0.97
"""Share of the asked datagram rate; below it a figure belongs to another load."""


@dataclass(frozen=True)
class Row:
    what: str
    found: str
    asked: str
    is_reached: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="relay")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "link_probe"
        source = Path(__file__).with_name("link_probe.c")
        subprocess.run(["cc", "-O2", "-Wall", "-o", probe, source], check=True)
        probe.chmod(0o755)
        try:
            prepare(parse_links(["rtt=1ms"]), options.backend)
        except UsageError as error:
            print(f"links: {error}", file=sys.stderr)
            return 2
        with cores_awake() as is_awake:
            bench = _Bench(probe, options.backend)
            rows = [
                *bench.round_trips("200us", 20, None),
                *bench.round_trips("1ms", 10, 100),
                *bench.round_trips("5ms", 10, 100),
                bench.goodput("100mbit", 100_000_000),
                bench.goodput("1gbit", 1_000_000_000),
                bench.lost_packets(),
                bench.relay_cpu(),
                bench.up_and_down(),
            ]
            stops = bench.stops_per_s()
    table = _table(rows, f"{bench.made_by()}, idle cores {_IDLE[is_awake]}", stops)
    print(table)
    if options.page is not None:
        fill(options.page, "measured", table)
    return 0 if all(row.is_reached for row in rows) else 1


_NOTHING = "–"
"""The target of a row that has none."""
_IDLE = {True: "kept awake", False: "may halt"}


class _Bench:
    def __init__(self, probe: Path, backend: str) -> None:
        self.probe = probe
        self.backend = backend
        self._made_by: dict[str, None] = {}

    def made_by(self) -> str:
        """The backends that made the links, and their devices: not always those asked for."""
        return " and ".join(self._made_by)

    def round_trips(self, rtt: str, p50_us: float, p99_us: float | None) -> Iterator[Row]:
        spec = parse_link(f"rtt={rtt}")
        middles, tails = [], []
        for seed in range(_RUNS):
            with self._link(spec.text, seed) as link, self._far(link, "echo"):
                said = self._near(link, "ping", link.far_address, _PINGS)
            errors = sorted((int(line) - spec.rtt_ns) / 1e3 for line in said.split())
            middles.append(errors[len(errors) // 2])
            tails.append(errors[len(errors) * 99 // 100])
        p50, p99 = median(middles), median(tails)
        found = f"{p50:+.1f} µs ({min(middles):+.1f} to {max(middles):+.1f})"
        yield Row(f"RTT error p50 at {rtt}", found, f"{p50_us:g} µs", abs(p50) <= p50_us)
        found = f"{p99:+.1f} µs ({min(tails):+.1f} to {max(tails):+.1f})"
        asked = _NOTHING if p99_us is None else f"{p99_us:g} µs"
        yield Row(f"RTT error p99 at {rtt}", found, asked, p99_us is None or abs(p99) <= p99_us)

    def goodput(self, bandwidth: str, bits_per_s: int) -> Row:
        shares = []
        for seed in range(_RUNS):
            text = f"rtt=500us,bandwidth={bandwidth}"
            with self._link(text, seed) as link, self._far(link, "sink") as sink:
                self._near(link, "bulk", link.far_address, _BULK_MS)
                received, took_ns = map(int, sink.communicate(timeout=_LIMIT_S)[0].split())
            shares.append(received * 8e9 / took_ns / (bits_per_s * _TCP_PAYLOAD))
        share = median(shares)
        found = f"{share:.1%} ({min(shares):.1%} to {max(shares):.1%}) of the payload share"
        what = f"TCP goodput at {bandwidth}"
        return Row(what, found, "92 % to 101 %", 0.92 <= share <= 1.01)

    def lost_packets(self) -> Row:
        line_per_s = 100_000_000 / 8 / _ON_THE_LINE_BYTES
        lost, shares, full = [], [], 0
        for seed in range(_RUNS):
            with self._link("rtt=1ms,bandwidth=100mbit", seed) as link:
                link.take_traffic()
                missing, sent_per_s, _ = self._flooded(link, _DATAGRAM_BYTES, 0.95 * line_per_s)
                lost.append(missing)
                shares.append(sent_per_s / line_per_s)
                full += link.take_traffic().counters.get("near_to_far_full", 0)
        found = (
            f"{max(lost)} at most; {sum(lost)} in all, {full} for the link's own full queue, at "
            f"{min(shares):.1%} to {max(shares):.1%} of the line"
        )
        return Row("packets lost unasked at 95 % of 100 Mbit/s", found, "0", not any(lost))

    def relay_cpu(self) -> Row:
        what, shares = "relay CPU at 1 ms RTT, 5,000 packets/s", []
        for seed in range(_RUNS):
            with self._link("rtt=1ms", seed) as link:
                link.take_traffic()
                _, _, took_ns = self._flooded(link, 100, 5_000)
                cpu_ns = link.take_traffic().counters.get("relay_cpu_ns")
            if cpu_ns is None:
                return Row(what, "no relay", _NOTHING, True)
            # CPU time while nothing is sent is included.
            shares.append(cpu_ns / took_ns)
        share = median(shares)
        found = f"{share:.0%} ({min(shares):.0%} to {max(shares):.0%}) of a core"
        return Row(what, found, "25 %", share <= 0.25)

    def up_and_down(self) -> Row:
        took_s = []
        for seed in range(_RUNS):
            begun_s = time.monotonic()
            with self._link("rtt=1ms", seed):
                pass
            took_s.append(time.monotonic() - begun_s)
        found = f"{median(took_s):.2f} s ({min(took_s):.2f} to {max(took_s):.2f})"
        what = "link up and down, calibration included"
        return Row(what, found, "1.5 s", median(took_s) <= 1.5)

    def stops_per_s(self) -> float:
        """How often this host stops a core that is busy for more than _STOP_NS."""
        cores = sorted(os.sched_getaffinity(0))
        programs = [self._started("stops", _STOP_NS, _BULK_MS) for _ in cores]
        stops = sum(int(program.communicate(timeout=_LIMIT_S)[0]) for program in programs)
        return stops / len(cores) / (_BULK_MS / 1e3)

    @contextmanager
    def _link(self, text: str, seed: int) -> Iterator[Link]:
        spec = parse_link(text)
        forget_calibrations()
        with bring_up(spec, backend_of(spec, self.backend), seed) as link:
            assert link.facts is not None
            self._made_by[f"{link.facts.backend} ({link.facts.device})"] = None
            yield link

    def _flooded(self, link: Link, size_bytes: int, per_s: float) -> tuple[int, float, int]:
        """Datagrams lost of those sent, how many were sent a second, and for how many ns."""
        with self._far(link, "count") as sink:
            rate = (link.far_address, size_bytes, per_s, _BULK_MS)
            sent, took_ns = map(int, self._near(link, "rate", *rate).split())
            received = int(sink.communicate(timeout=_LIMIT_S)[0])
        sent_per_s = (sent - 1) * 1e9 / took_ns
        if sent_per_s < _LEAST_RATE * per_s:
            raise SystemExit(f"links: {sent_per_s:.0f} datagrams/s were sent of {per_s:.0f} asked")
        return sent - received, sent_per_s, took_ns

    def _near(self, link: Link, *words: object) -> str:
        with link.near.entered():
            program = self._started(*words)
        with program:
            said, _ = program.communicate(timeout=_LIMIT_S)
        if program.returncode:
            raise SystemExit(f"link_probe {words[0]} failed with status {program.returncode}")
        return said

    @contextmanager
    def _far(self, link: Link, *words: object) -> Iterator[subprocess.Popen[str]]:
        host: Network = link.far
        with host.entered():
            program = self._started(*words)
        with program:
            try:
                assert program.stdout is not None
                assert program.stdout.readline() == "listening\n"
                yield program
            finally:
                program.kill()

    def _started(self, *words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.probe), *map(str, words)], stdout=subprocess.PIPE, text=True
        )


def _table(rows: list[Row], made_by: str, stops_per_s: float) -> str:
    facts = environment("cubic")
    lines = ["| what | found | asked | |", "|---|---|---|---|"]
    for row in rows:
        word = "" if row.asked == _NOTHING else "reached" if row.is_reached else "MISSED"
        lines.append(f"| {row.what} | {row.found} | {row.asked} | {word} |")
    machine = f"Linux {facts['kernel']}, {facts['cpu_model']}, {facts['cores']} cores"
    how = f"{made_by}; medians of {_RUNS} runs, the lowest and the highest in brackets"
    stops = (
        f"Just after, this host stopped each of its cores {stops_per_s:.0f} times a second for "
        f"more than {_STOP_NS // 1_000} µs, as a program sees it that does nothing but look at the "
        "clock: a round trip in which that happens is as much longer, whatever the relay does"
    )
    return "\n".join([*lines, "", f"{machine}; {how}. {stops}."])


if __name__ == "__main__":
    sys.exit(main())
