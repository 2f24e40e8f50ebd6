"""Two hosts that are network namespaces, and a server of `tinygram serve` on the far one."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeVar

import pytest
from pyroute2 import IPRoute
from tests.support.command import Command

from tinygram_bench import _native
from tinygram_bench.links.backends.veth import make_pair
from tinygram_bench.links.hosts import Hosts, two_hosts

PLANTED_S = 5_000
"""How far the far host's clock is ahead."""
TINYGRAM = (sys.executable, "-B", "-m", "tinygram_bench")
IN_ANOTHER_TIME = ("unshare", "--time", "--monotonic", str(PLANTED_S))
NEAR_SIX, FAR_SIX = "fd74:6774::1", "fd74:6774::2"
T = TypeVar("T")
needs_two_hosts = pytest.mark.usefixtures("two_hosts_permitted")


def refusal() -> str | None:
    """Why there cannot be two hosts here; None: there can."""
    if os.geteuid() != 0:
        return "only root may make network and time namespaces"
    tried = subprocess.run([*IN_ANOTHER_TIME, "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else f"no time namespace: {tried.stderr!r}"


def new_key(home: Path) -> str:
    """The line to paste, of a new key of the server with that home."""
    words = [*TINYGRAM, "serve", "--new-key"]
    around = os.environ | {"XDG_CONFIG_HOME": str(home)}
    return subprocess.run(words, env=around, capture_output=True, text=True, check=True).stdout


def shared_key(home: Path) -> str:
    """The same of the one key that all servers of a process of tests have: it takes a command."""
    made, line = _made_for_all()
    shutil.copytree(made / "tinygram", home / "tinygram")
    return line


@cache
def _made_for_all() -> tuple[Path, str]:
    """A home with a key, and the line to paste.

    Threads that ask at once may have one each, which harms nothing.
    """
    made = Path(mkdtemp(prefix="tinygram-key-"))
    atexit.register(shutil.rmtree, made)
    return made, new_key(made)


def paste(line: str, home: Path) -> None:
    around = os.environ | {"XDG_CONFIG_HOME": str(home)}
    subprocess.run(["sh", "-c", line], env=around, check=True)


@dataclass
class Apart:
    """Two hosts with their homes, of which this thread is on the near one.

    `address`: where the server listens.
    """

    near_home: Path
    far_home: Path
    address: str
    server: subprocess.Popen[str]
    hosts: Hosts

    def on_far(self, act: Callable[[], T]) -> T:
        """Do something on the far host."""
        near, far = self.hosts.near.network.inside, self.hosts.far.network.inside
        assert near is not None
        assert far is not None
        _native.enter_network_namespace(far)
        try:
            return act()
        finally:
            _native.enter_network_namespace(near)

    def cut(self) -> None:
        """Have the link drop everything from now on; the near host's own device stays up."""
        self.on_far(lambda: _set_state(self.hosts.far.device, "down"))

    def command(self, folder: Path, subcommand: str) -> Command:
        """`tinygram SUBCOMMAND` on the near host; see `environment`."""
        folder.mkdir()
        return Command(folder, subcommand)

    @property
    def environment(self) -> dict[str, str]:
        return {"XDG_CONFIG_HOME": str(self.near_home)}


@contextmanager
def apart(
    tmp_path: Path,
    *,
    bind: str | None = None,
    options: Sequence[object] = (),
    through: Sequence[str] = IN_ANOTHER_TIME,
) -> Iterator[Apart]:
    """Both hosts, with the client's key pasted.

    The server binds to the far host's address of IPv4, or to `bind`.
    """
    homes = tmp_path / "near", tmp_path / "far"
    with ExitStack() as stack:
        made = stack.enter_context(two_hosts())
        make_pair(made, 1_500)
        for host, address in ((made.near, NEAR_SIX), (made.far, FAR_SIX)):
            with host.network.entered():
                _add_six(host.device, address)
        paste(shared_key(homes[1]), homes[0])
        address = bind or made.far.address
        with made.far.network.entered():
            server = subprocess.Popen(
                [*through, *TINYGRAM, "serve", "--bind", address, *map(str, options)],
                env=os.environ | {"XDG_CONFIG_HOME": str(homes[1])},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        stack.enter_context(server)
        stack.callback(server.kill)
        assert server.stdout is not None
        assert server.stdout.readline() == "listening 5201\n"
        stack.enter_context(made.near.network.entered())
        yield Apart(*homes, address, server, made)


def _add_six(device: str, address: str) -> None:
    # Links are of IPv4 alone.
    Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("0")
    with IPRoute() as route:
        (index,) = route.link_lookup(ifname=device)
        # Without asking whether another host has it already (RFC 4862): it is used at once.
        route.addr("add", index=index, address=address, prefixlen=64, flags=_NODAD)


def _set_state(device: str, state: str) -> None:
    with IPRoute() as route:
        (index,) = route.link_lookup(ifname=device)
        route.link("set", index=index, state=state)


_NODAD = 0x02
