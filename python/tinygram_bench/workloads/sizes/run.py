"""One run of `sizes`: a server and a client, what they are told, and what they must agree on."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass

import msgspec

from tinygram_bench.host.network import Network
from tinygram_bench.host.placement import placement
from tinygram_bench.host.probes.sampling import probing
from tinygram_bench.links import Link, link_up
from tinygram_bench.model.parameters import SizesParameters
from tinygram_bench.model.result import Case, Run, Warning
from tinygram_bench.processes.workers import LISTEN_LIMIT_S, RunError, Worker, wait_all
from tinygram_bench.run.runs import kept_failure, strangers_told
from tinygram_bench.workloads.sizes.order import Order, Report

PACKAGE = "tinygram_bench.workloads.sizes"


@dataclass(frozen=True)
class SizesBench:
    """Runs cases of `sizes`."""

    seed: int

    def run_case(self, case: Case, round: int) -> Run:
        """Run a case once; a failure is in the run, not raised."""
        return kept_failure(case, round, self._measure)

    def _measure(self, case: Case, round: int) -> Run:
        asked = SizesParameters.of(case)
        timeout_s = asked.timeout_ns / 1e9
        with ExitStack() as stack:
            address, server, link = "", None, Link()
            if asked.server_address is not None:
                address = asked.server_address
            else:
                # Of what one host does the link is loopback.
                link = stack.enter_context(link_up(case, self.seed + round))
            if not address and asked.part is None:
                with link.far.entered():
                    server = stack.enter_context(Worker("server", self._server_command(case, link)))
                port = server.wait_listening(min(LISTEN_LIMIT_S, timeout_s))
                address = f"{link.far_address}:{port}"
            probe_ns = asked.probe_ns
            _, _, to_port = address.rpartition(":")
            probe = stack.enter_context(
                probing(probe_ns, int(to_port or 0), link.near, link.is_one_host)
            )
            order = self._order(case, address, link)
            with link.near.entered():
                client = stack.enter_context(
                    Worker(
                        "client",
                        [sys.executable, "-m", f"{PACKAGE}.client"],
                        order=msgspec.json.encode(order),
                        pass_fds=link.counter_fds or (),
                    )
                )
            wait_all([client] if server is None else [server, client], timeout_s)
            report = msgspec.json.decode(client.output, type=Report)
            counters = dict(report.counters)
            if server is not None:
                counters |= _agreed(case, server.output)
            warnings = _warnings(case, counters, link.near)
            run = Run(case.case_id, round, counters, report.histograms, warnings)
            return probe.added_to(link.added_to(run), report.start_ns)

    def _server_command(self, case: Case, link: Link) -> list[str]:
        options = {
            "--host": link.far_address,
            "--samples": _connections(case),
            "--sample-bytes": _sample_bytes(case),
            "--seed": self.seed,
            "--congestion-control": case.parameters.congestion_control,
            "--parent": os.getpid(),
        }
        if link.client_host is not None:
            options["--client-host"] = link.client_host
        cpu = placement(case.placement).receiver_cpu
        if cpu is not None:
            options["--cpu"] = cpu
        words = [str(word) for option in options.items() for word in option]
        return [sys.executable, "-m", f"{PACKAGE}.server", *words]

    def _order(self, case: Case, address: str, link: Link) -> Order:
        asked = SizesParameters.of(case)
        part = asked.part
        if part is None:
            where = placement(case.placement)
        else:
            # Placement is what the local parts differ in.
            where = placement("apart" if part == "other-core" else "same")
        return Order(
            part=None if part is None else str(part),
            far_cpu=where.receiver_cpu if part in ("same-core", "other-core") else None,
            address=address,
            message_bytes=case.message_bytes.max,
            round_trips=asked.round_trips,
            is_setup_joined=asked.setup_writes == 1,
            strategy=case.strategy,
            congestion_control=asked.congestion_control,
            seed=self.seed,
            # So that the client is the one to say what it waited for in vain.
            timeout_ns=asked.timeout_ns // 2,
            first_samples=asked.first_samples,
            samples=asked.samples,
            parent_pid=os.getpid(),
            cpu=where.sender_cpu,
            counter_fds=link.counter_fds,
            own_host=link.client_host,
        )


def _connections(case: Case) -> int:
    """One for each sample; of messages one more, which has the last byte withheld (client.rs)."""
    asked = SizesParameters.of(case)
    withheld = 1 if asked.round_trips else 0
    return asked.first_samples + withheld + asked.samples


def _sample_bytes(case: Case) -> int:
    return case.message_bytes.max * SizesParameters.of(case).round_trips


def _agreed(case: Case, output: bytes) -> dict[str, int]:
    """The server's counters, which must tell of every sample and of every byte."""
    _, _, line = output.partition(b"\n")
    counters = msgspec.json.decode(line, type=dict[str, int])
    connections = _connections(case)
    expected = {
        "server_samples": connections,
        "server_compared_samples": connections if _sample_bytes(case) else 0,
        "server_bytes": connections * _sample_bytes(case),
    }
    for name, count in expected.items():
        if counters[name] != count:
            what = name.removeprefix("server_").replace("_", " ")
            raise RunError(f"the server counted {counters[name]} {what} where {count} were sent")
    return counters


def _warnings(case: Case, counters: dict[str, int | None], network: Network) -> tuple[Warning, ...]:
    """What a reader of one run's figures must know."""
    asked = SizesParameters.of(case)
    if asked.part is not None:
        return ()
    warnings = [*strangers_told(counters)]
    if counters["retransmits"]:
        warnings.append(
            Warning("retransmits", f"segments retransmitted: {counters['retransmits']}")
        )
    if counters.get("server_refused_connections") or counters.get("server_idle_connections"):
        warnings.append(Warning("strangers", "connections that were not ours reached the server"))
    if asked.server_address is not None:
        warnings.append(
            Warning(
                "other_server",
                f"the server at {asked.server_address} is another program: its bytes "
                "were not compared, and nothing is known of its placement",
            )
        )
    elif not network.is_private:
        warnings.append(
            Warning(
                "host_network",
                "the run shared the host's network (a private one needs CAP_SYS_ADMIN): the "
                "kernel's counters are not known",
            )
        )
    return tuple(warnings)
