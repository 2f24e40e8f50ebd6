"""Without root: a link where the machine permits it, and one clear line where it does not."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.links.emulating import Emulate

from tinygram_bench import _native
from tinygram_bench.links.sandbox import _refused

NOBODY = 65_534


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[Emulate]:
    """The command as a user without rights; as who runs the tests, where that is such a one."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv (util-linux) is missing")
        user = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        prefix = ("setpriv", *user, "--inh-caps=-all", "--bounding-set=-all")
        tmp_path.chmod(0o777)
        probe = [*prefix, sys.executable, "-c", "import tinygram"]
        if subprocess.run(probe, capture_output=True, check=False, cwd="/").returncode:
            # Another user may not read this checkout: without any right, then.
            prefix = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
    emulate = Emulate(Path("/"), prefix)
    yield emulate
    emulate.end()


def test_an_unprivileged_user_gets_a_link_or_one_line_that_says_why_not(
    unprivileged: Emulate,
) -> None:
    done = unprivileged.run("rtt=5ms", "--", "sh", "-c", "echo over $TINYGRAM_FAR")
    if done.code == 0:
        assert done.stdout.startswith("over ")
        return
    assert done.code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("tinygram: error: no link can be made here: ")
    assert done.stderr.count("\n") == 1
    assert "root" in done.stderr


def test_check_tells_an_unprivileged_user_how_links_are_made(unprivileged: Emulate) -> None:
    done = unprivileged.run("--check")
    assert done.code in (0, 2)
    first = done.stdout.splitlines()[0].split()
    assert first[:2] in (["namespaces", "yes"], ["namespaces", "no"])
    assert (first[1] == "yes") == ("without root" in done.stdout)


def test_a_namespace_without_rights_is_a_refusal() -> None:
    """AppArmor has it so: the namespace is permitted, and being root in it is not."""
    if _native.pid_namespace_refusal(True) is not None:
        pytest.skip("user namespaces are refused here")
    # Without /proc nobody becomes root: the maps are there.
    probe = "from tinygram_bench import _native; print(_native.pid_namespace_refusal(True))"
    hidden = f"mount -t tmpfs none /proc && exec {sys.executable} -c '{probe}'"
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", hidden]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == f"{errno.ENOENT}\n"


PARTLY_ROOT = [
    ("unshare", "--user", "--map-root-user"),
    ("setpriv", "--inh-caps=-net_admin", "--bounding-set=-net_admin"),
]


@pytest.mark.parametrize("prefix", PARTLY_ROOT, ids=" ".join)
def test_a_root_who_may_not_make_networks_here_gets_a_user_namespace(
    prefix: tuple[str, ...],
) -> None:
    """Root of a user namespace, in a network that is not its own; and without CAP_NET_ADMIN."""
    needed = (*prefix, "unshare", "--user", "--map-root-user", "--net", "true")
    if subprocess.run(needed, capture_output=True, check=False).returncode:
        pytest.skip("user namespaces are not permitted here")
    emulate = Emulate(Path("/"), prefix)
    done = emulate.run("rtt=5ms", "--", "sh", "-c", "echo over $TINYGRAM_FAR")
    emulate.end()
    assert done.code == 0, done.stderr
    assert done.stdout.startswith("over ")


SETTINGS = [
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "=0"),
    ("kernel/unprivileged_userns_clone", "0", "=1"),
    ("user/max_user_namespaces", "0", "=10000"),
]


@pytest.mark.parametrize(("path", "value", "remedy"), SETTINGS)
def test_the_setting_that_refuses_is_named(
    tmp_path: Path, path: str, value: str, remedy: str
) -> None:
    file = tmp_path / "proc/sys" / path
    file.parent.mkdir(parents=True)
    file.write_text(f"{value}\n")
    found = _refused(1, tmp_path)
    name = path.replace("/", ".")
    assert not found.is_given
    assert f"{name} is {value}" in found.why
    assert f"sysctl -w {name}{remedy}" in found.remedy


def test_where_no_setting_tells_the_kernels_answer_is_named(tmp_path: Path) -> None:
    found = _refused(1, tmp_path)
    assert "EPERM" in found.why
    assert "root" in found.remedy
