"""Hosts with a Ray node each: network namespaces joined by a bridge, in a world of their own.

The world is a PID namespace: when its first process ends, however the test did, the kernel kills
all that is in it, every process of Ray's too. Its /dev/shm, where Ray keeps everything, goes with
it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import children_of

SUBNET = "10.77.0"
HOSTS = 4
PORT = 6379
_LIMIT_S = 60.0
_SCRIPT = f"""
set -e
mount -t tmpfs tmpfs /dev/shm
ip link set lo up
ip link add name bridge type bridge
ip addr add {SUBNET}.254/24 dev bridge
ip link set bridge up
for host in $(seq {HOSTS}); do
    unshare --net sleep infinity &
    pid=$!
    while [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    ip link add port$host type veth peer name eth0 netns $pid
    ip link set port$host master bridge up
    nsenter -t $pid --net sh -ec "
        ip link set lo up
        ip addr add {SUBNET}.$host/24 dev eth0
        ip link set eth0 up
        ip route add default via {SUBNET}.254"
    echo $pid
done
exec sleep infinity
"""
_RAY = str(Path(sys.executable).parent / "ray")
_START = (
    "--num-cpus=1",
    "--object-store-memory=80000000",
    "--disable-usage-stats",
)


def refusal() -> str | None:
    """Why there can be no such hosts here; None: there can."""
    if not Path(_RAY).exists():
        return "ray is not installed: make test-cluster does that"
    words = [
        *_unshare(),
        "sh",
        "-c",
        "mount -t tmpfs tmpfs /dev/shm && ip link add name bridge type bridge",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stderr.strip() or "namespaces are not permitted" if done.returncode else None


def _unshare() -> list[str]:
    mapped = [] if os.getuid() == 0 else ["--map-root-user"]
    return ["unshare", *mapped, "--net", "--mount", "--pid", "--fork", "--mount-proc"]


class Hosts:
    """The hosts, from 1 on; on each a Ray node runs, the first one's is the head."""

    def __init__(self, world: int, holders: Sequence[int]) -> None:
        """`world`: a process outside that is in all its namespaces; `holders`: pids inside."""
        self._world = world
        self._holders = holders

    @staticmethod
    def address(host: int) -> str:
        return f"{SUBNET}.{host}"

    def words(self, host: int, *command: object) -> list[str]:
        """The command line of a program on that host."""
        user = [] if os.getuid() == 0 else ["--user", "--preserve-credentials"]
        into = ["nsenter", "--target", str(self._world), *user, "--net", "--mount", "--pid"]
        there = ["nsenter", "--target", str(self._holders[host - 1]), "--net"]
        return [*into, *there, *map(str, command)]

    def run(self, host: int, *command: object) -> subprocess.CompletedProcess[str]:
        """Run a program there to its end."""
        return subprocess.run(
            self.words(host, *command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
        )

    def start_ray(self, host: int, python_path: Path | None = None) -> None:
        """Have a node there; the first host must have its own before the others.

        `python_path`: where its programs find modules before others.
        """
        words = () if python_path is None else ("env", f"PYTHONPATH={python_path}")
        where = (
            ("--head", f"--port={PORT}", "--temp-dir=/dev/shm/ray", "--include-dashboard=false")
            if host == 1
            else (f"--address={self.address(1)}:{PORT}",)
        )
        named = f"--node-ip-address={self.address(host)}"
        done = self.run(host, *words, _RAY, "start", *where, named, *_START)
        assert done.returncode == 0, done.stdout + done.stderr

    def kill(self, host: int) -> None:
        """End everything on that host at once, and cut it off."""
        script = (
            f"own=$(readlink /proc/{self._holders[host - 1]}/ns/net); "
            "for each in /proc/[0-9]*; do pid=${each#/proc/}; "
            f'if [ "$pid" != $$ ] && [ "$pid" != {self._holders[host - 1]} ] && '
            '[ "$(readlink $each/ns/net)" = "$own" ]; then kill -9 $pid; fi; done; true'
        )
        self.run(1, "sh", "-c", script)


@contextmanager
def cluster_hosts(count: int = HOSTS) -> Iterator[Hosts]:
    """Hosts, the first `count` of which have Ray, until the block's end."""
    process = subprocess.Popen(
        [*_unshare(), "--kill-child", "sh", "-c", _SCRIPT],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        holders = [int(process.stdout.readline()) for _ in range(HOSTS)]
        (world,) = children_of(process.pid)
        hosts = Hosts(world, holders)
        for host in range(1, count + 1):
            hosts.start_ray(host)
        yield hosts
    finally:
        process.kill()
        process.wait()
