"""Root's rights are given up once the port is open, by the server and by what it starts."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.hosts.far_server import answer_of, line_of, welcomed
from tests.hosts.namespaces.apart import TINYGRAM
from tests.hosts.test_control_traffic import BEGIN, tell
from tests.support.processes import children_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")

NOTHING = "0000000000000000"
HIDDEN = r"""
set -e
mkdir "$2/kept"
mount --bind "$3" "$2/kept"
mount -t tmpfs -o mode=755 none "$1"
mkdir -p "$3"
mount --bind "$2/kept" "$3"
shift 3
exec "$@"
"""
"""In a mount namespace of its own: $1, which others may not enter, has only $3 in it."""


def hidden_by(path: Path) -> Path | None:
    """The first folder on the way there that others may not enter; None: they may enter all."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None


def readable_by_nobody(tmp_path: Path) -> tuple[str, ...]:
    """What starts a program so that everybody may read the Python that runs it."""
    python = Path(sys.base_prefix).resolve()
    folder = hidden_by(python)
    if folder is None:
        return ()
    return ("unshare", "--mount", "sh", "-c", HIDDEN, "sh", str(folder), str(tmp_path), str(python))


@contextmanager
def serving(program: tuple[str, ...]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    words = [*program, "serve", "--port", "0"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("listening "), process.communicate()
            yield process, int(line.split()[1])
        finally:
            process.kill()


def status_of(task: Path) -> dict[str, list[str]]:
    lines = (task / "status").read_text().splitlines()
    return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}


def check_has_no_rights(pid: int, uid: int) -> None:
    for task in Path(f"/proc/{pid}/task").iterdir():
        found = status_of(task)
        assert set(found["Uid"]) == {str(uid)}
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            assert found[name] == [NOTHING], name
        assert found["NoNewPrivs"] == ["1"]


def check_server_and_receiver(program: tuple[str, ...], uid: int) -> str:
    """Neither the server nor a process of its client has rights; what it said."""
    with serving(program) as (process, port):
        with welcomed(port) as sock:
            sock.sendall(line_of(BEGIN) + line_of(tell()))
            assert answer_of(sock)["type"] == "Said"  # It listens.
            children = children_of(process.pid)
            assert children
            for pid in (process.pid, *children):
                check_has_no_rights(pid, uid)
            (groups,) = {tuple(status_of(Path(f"/proc/{pid}"))["Groups"]) for pid in children}
            assert groups == () or uid == 0
        process.terminate()
        assert process.stderr is not None
        return process.stderr.read()


def test_where_everybody_may_read_the_installation_root_becomes_nobody(tmp_path: Path) -> None:
    nobody = int(subprocess.check_output(["id", "-u", "nobody"]))
    program = (*readable_by_nobody(tmp_path), *TINYGRAM)
    assert "runs as root" not in check_server_and_receiver(program, nobody)


def test_where_only_root_may_root_has_no_capability_left_and_it_is_said(tmp_path: Path) -> None:
    python = tmp_path / "only-root" / "python"
    python.parent.mkdir(mode=0o700)
    python.symlink_to(sys.executable)
    # The link alone does not say where the environment is.
    found_in = f"PYTHONPATH={':'.join(sys.path[1:])}"
    said = check_server_and_receiver(("env", found_in, str(python), *TINYGRAM[1:]), 0)
    assert "runs as root without its capabilities: nobody may not run" in said
