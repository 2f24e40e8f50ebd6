"""Reaches the hosts of an existing Ray cluster, by one actor on each, and leaves them unchanged.

Nothing else imports Ray, and this module does so only when a cluster is asked for. Failures are
known within some ten seconds, and told in one line.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from types import ModuleType
from typing import Any

from msgspec import Struct

from tinygram_bench.cluster import AUTO
from tinygram_bench.host.network.connections import received_whole
from tinygram_bench.model.errors import UsageError

_ADDRESS = re.compile(r"([A-Za-z0-9._-]{1,253}):([0-9]{1,5})")
_CONNECT_S = 4.0
_JOIN_S = 8
_PLACED_S = 8.0
_ANSWER_S = 10.0
_FRAME_HEADER_BYTES = 9
_AT_A_TIME = 4
"""How many steps a host may do at a time: a long one, and pings."""
_EXTRAS = ("uvloop", "aiofastnet")
"""Extras with a single package of the same name; `cluster` has everything else that a host
needs."""
_START = "start one with `ray start --head` on a host and `ray start --address=…` on the others"


class Node(Struct, frozen=True):
    """A host of the cluster, as Ray knows it."""

    id: str
    host: str
    name: str
    cores: float


class HostRef:
    """The actor of a host, whose address is `host`; `end` ends it and all that it has started."""

    def __init__(
        self,
        node: Node,
        actor: Any,
        to_future: Callable[[Any], Future[bytes]],
        end: Callable[[], None],
    ) -> None:
        self.host = node.host
        self.name = node.name
        self.end = end
        self._actor = actor
        self._to_future = to_future

    def ask(self, step: str, order: bytes = b"null") -> Future[bytes]:
        """Have the host do a step; the future's error is one sentence."""
        return self._to_future(self._actor.ask.remote(step, order))


class Cluster:
    """A cluster of which this host is a node."""

    def __init__(self, ray: ModuleType, asked: str) -> None:
        self._ray = ray
        self._asked = asked
        self.nodes = self._nodes()

    def _nodes(self) -> tuple[Node, ...]:
        return tuple(
            Node(each["NodeID"], each["NodeManagerAddress"], each["NodeManagerHostname"], cores)
            for each in self._ray.nodes()
            if each["Alive"]
            for cores in [each["Resources"].get("CPU", 0.0)]
        )

    @contextmanager
    def spread(self, count: int, words: str) -> Iterator[list[HostRef]]:
        """An actor on each of `count` hosts with a free core. `words`: what needs them, for errors.

        Raises UsageError where there are fewer.
        """
        if len(self.nodes) < count:
            raise UsageError(
                f"{words} needs {count} hosts, and the cluster of --cluster {self._asked} has "
                f"{len(self.nodes)} ({', '.join(each.host for each in self.nodes)}): ask for "
                "fewer --clients or --servers, or add hosts with `ray start --address=…`"
            )
        from ray.util import placement_group, remove_placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        group = placement_group([{"CPU": 1}] * count, strategy="STRICT_SPREAD")
        try:
            if not group.wait(_PLACED_S):
                raise UsageError(
                    f"{words} needs a free core on each of {count} hosts, and in {_PLACED_S:g} s "
                    f"the cluster of --cluster {self._asked} had them not: "
                    f"{self._cores_told()}; wait until other work has ended, or ask for fewer"
                )
            placed = self._ray.util.placement_group_table(group)["bundles_to_node_id"]
            # Read again, because one of them may have joined since.
            nodes = {each.id: each for each in self._nodes()}
            with self._actors(
                [
                    (
                        nodes[placed[number]],
                        PlacementGroupSchedulingStrategy(
                            group, placement_group_bundle_index=number
                        ),
                        1,
                    )
                    for number in range(count)
                ]
            ) as found:
                yield found
        finally:
            remove_placement_group(group)

    @contextmanager
    def everywhere(self) -> Iterator[list[HostRef]]:
        """An actor on every host, whether it has a free core or not."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        with self._actors(
            [(node, NodeAffinitySchedulingStrategy(node.id, soft=False), 0) for node in self.nodes]
        ) as found:
            yield found

    def _cores_told(self) -> str:
        return ", ".join(f"{each.host} {each.cores:g} in all" for each in self.nodes)

    @contextmanager
    def _actors(self, places: Sequence[tuple[Node, Any, int]]) -> Iterator[list[HostRef]]:
        from tinygram_bench.cluster.actors import HostActor

        made: list[Any] = []
        try:
            kind = self._ray.remote(HostActor)
            for _, strategy, cores in places:
                options = {"num_cpus": cores, "max_concurrency": _AT_A_TIME, "max_restarts": 0}
                made.append(kind.options(scheduling_strategy=strategy, **options).remote())
            yield [
                HostRef(node, actor, self._future, partial(self._end, actor))
                for (node, _, _), actor in zip(places, made, strict=True)
            ]
        finally:
            for actor in made:
                self._end(actor)

    def _end(self, actor: Any) -> None:
        """End an actor; what it has started dies with it. A dead or cut-off one cannot be told."""
        with suppress(Exception):
            self._ray.kill(actor)

    def _future(self, ref: Any) -> Future[bytes]:
        """The future answer; where there is none, it fails with a RuntimeError of one sentence."""
        plain: Future[bytes] = Future()

        def done(found: Future[bytes]) -> None:
            error = found.exception()
            if error is None:
                plain.set_result(found.result())
            else:
                plain.set_exception(RuntimeError(described(error)))

        ref.future().add_done_callback(done)
        return plain


@contextmanager
def reached(asked: str) -> Iterator[Cluster]:
    """The cluster of `--cluster`, until the block's end. Raises UsageError."""
    # Set before Ray is imported, which reads them then.
    os.environ.setdefault("RAY_GCS_SERVER_REQUEST_TIMEOUT_SECONDS", str(_JOIN_S))
    os.environ.setdefault("RAY_gcs_rpc_server_connect_timeout_s", str(_JOIN_S // 2))
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if asked != AUTO:
        _check_listens(asked)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UsageError(
            "--cluster needs the Python package 'ray' on every host: pip install "
            "'tinygram[cluster]'"
        ) from error
    _join(ray, asked)
    try:
        yield Cluster(ray, asked)
    finally:
        ray.shutdown()


def answers(hosts: Sequence[HostRef], asked: Sequence[Future[bytes]], doing: str) -> list[bytes]:
    """The answers of all hosts, within some seconds. Raises UsageError, naming one that fails."""
    wait(asked, _ANSWER_S)
    for host, future in zip(hosts, asked, strict=True):
        if not future.done():
            raise UsageError(
                f"--cluster: {host.host} did not answer in {_ANSWER_S:g} s when {doing}: see "
                "`ray status`, and whether that host is up"
            )
        error = future.exception()
        if error is not None:
            raise UsageError(f"--cluster: {host.host} failed when {doing}: {error}")
    return [future.result() for future in asked]


def described(error: BaseException) -> str:
    """An error from Ray in one sentence, without the other host's traceback."""
    text = str(getattr(error, "cause", None) or error)
    missing = re.search(r"No module named '([A-Za-z0-9_.]+)'", str(error))
    if missing is not None:
        extra = missing[1] if missing[1] in _EXTRAS else "cluster"
        return (
            f"it has no Python module {missing[1]}: install the same tinygram there "
            f"(pip install 'tinygram[bench,{extra}]'), in the environment in which its Ray runs"
        )
    name = type(error).__name__
    if name in ("ActorDiedError", "RayActorError", "ActorUnavailableError"):
        return f"the host, or its Ray, has died ({name})"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else name
    return re.sub(r"^[\w.]*(Error|Exception): ", "", last)


def _check_listens(asked: str) -> None:
    """Raises UsageError where nothing listens at the address, or it is not valid."""
    found = _ADDRESS.fullmatch(asked)
    if found is None or not 1 <= int(found[2]) < 1 << 16:
        raise UsageError(
            f"--cluster {asked!r} is neither {AUTO} nor HOST:PORT of a Ray cluster, such as "
            "192.0.2.7:6379"
        )
    try:
        with socket.create_connection((found[1], int(found[2])), _CONNECT_S) as sock:
            is_grpc = "RAY_USE_TLS" in os.environ or speaks_http2(sock)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise UsageError(
            f"--cluster {asked}: no Ray cluster is there ({reason}): {_START}"
        ) from error
    if not is_grpc:
        raise UsageError(
            f"--cluster {asked}: what listens there is no Ray cluster: name the address that "
            f"`ray start --head` printed, or {_START}"
        )


def speaks_http2(sock: socket.socket) -> bool:
    """Whether the peer's first answer is a SETTINGS frame (RFC 9113, 3.4): Ray speaks gRPC."""
    sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
    try:
        header = received_whole(sock, _FRAME_HEADER_BYTES, _CONNECT_S)
    except TimeoutError:
        return False
    return len(header) == _FRAME_HEADER_BYTES and header[3] == 4


def _join(ray: ModuleType, asked: str) -> None:
    """Make this process a driver of the cluster. Raises UsageError."""
    failure: list[BaseException] = []

    def join() -> None:
        try:
            ray.init(
                address=asked,
                logging_level=logging.CRITICAL,
                log_to_driver=False,
                namespace=f"tinygram-{os.getpid()}",
            )
        except BaseException as error:  # noqa: BLE001 - it is told
            failure.append(error)

    # Where something else listens at the address, Ray itself would wait too long for a user.
    thread = threading.Thread(target=join, daemon=True)
    began_s = time.monotonic()
    thread.start()
    thread.join(_JOIN_S + 1)
    if thread.is_alive():
        took_s = time.monotonic() - began_s
        raise UsageError(
            f"--cluster {asked}: what is there did not answer as a Ray cluster in {took_s:.0f} s: "
            f"name the address that `ray start --head` printed, or {_START}"
        )
    if not failure:
        return
    text = " ".join(str(failure[0]).split())
    if "Version mismatch" in text:
        raise UsageError(
            f"--cluster {asked}: {text}: install the same Ray and Python on all hosts"
        ) from failure[0]
    if "Could not find any running Ray instance" in text:
        raise UsageError(f"--cluster {asked}: no Ray cluster runs here: {_START}") from failure[0]
    raise UsageError(
        f"--cluster {asked}: this host cannot join the cluster: {text[:300]}; it must be one of "
        f"its hosts: run `ray start --address={asked}` here first"
    ) from failure[0]
