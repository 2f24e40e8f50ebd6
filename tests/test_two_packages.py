"""The library and the bench are two packages, and nothing of the bench is in the library's."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import tinygram
from tinygram import _native as of_library
from tinygram_bench import _native as of_bench

ROOT = Path(__file__).parents[1]
MAX_LIBRARY_BYTES = 760_000
"""What it has today, and a little (docs/decisions/0022). Both in one had 1.75 MB."""


def module(native: Any) -> bytes:
    return Path(native.__file__).read_bytes()


def project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return table


@pytest.mark.parametrize(
    "trace",
    [
        "unshare",
        "/proc/thread-self/ns/net",
        "/proc/net",
        # What a preloaded library is asked by.
        "tinygram_write_counts",
        "tinygram_leave_out",
        "LinkRelay",
        "EchoServer",
        "SocketDiag",
    ],
)
def test_the_librarys_module_has_no_trace_of_the_bench(trace: str) -> None:
    assert trace.encode() in module(of_bench)
    assert trace.encode() not in module(of_library)


def test_the_librarys_module_is_small() -> None:
    assert len(module(of_library)) <= MAX_LIBRARY_BYTES


@pytest.mark.skipif(not os.access(ROOT / "target", os.W_OK), reason="cannot build into target")
@pytest.mark.parametrize(
    ("folder", "package", "command"),
    [(".", "tinygram", None), ("python", "tinygram_bench", "tinygram=tinygram_bench.cli:main")],
)
def test_a_wheel_has_its_own_package_and_all_of_it(
    tmp_path: Path, folder: str, package: str, command: str | None
) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    built = subprocess.run(
        [maturin, "build", "--release", "--interpreter", sys.executable, "--out", tmp_path],
        cwd=ROOT / folder,
        env=os.environ | {"PYO3_PYTHON": f"{ROOT}/.venv/bin/python"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        entries = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
        said = [archive.read(name).decode() for name in entries]
    source = ROOT / "python"
    own = (path for path in (source / package).rglob("*") if path.is_file())
    names = {str(path.relative_to(source)) for path in own if "__pycache__" not in path.parts}
    assert packed == names
    assert [line for text in said for line in text.split() if "=" in line] == (
        [command] if command else []
    )


def test_the_library_does_without_the_bench(tmp_path: Path) -> None:
    (tmp_path / "tinygram").symlink_to(Path(tinygram.__file__).parent)
    # Without site packages, so without the bench and what it needs.
    python = [sys.executable, "-B", "-S"]
    environment = {"PYTHONPATH": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*python, *arguments], env=environment, capture_output=True, text=True, check=False
        )

    assert run("-c", "import tinygram; tinygram.batch").returncode == 0
    assert run("-c", "import tinygram_bench").returncode == 1
    told = run("-m", "tinygram", "stream")
    assert told.returncode == 2
    assert told.stderr == (
        "tinygram: error: the bench, which has this command, is not installed: "
        "pip install 'tinygram[bench]'\n"
    )


def test_both_packages_have_one_version() -> None:
    library, bench = project(ROOT), project(ROOT / "python")
    version = tinygram.__version__
    assert of_bench.__version__ == version
    assert library["optional-dependencies"]["bench"] == [f"tinygram-bench=={version}"]
    assert f"tinygram=={version}" in bench["dependencies"]


def test_a_histogram_says_whose_it_is() -> None:
    assert of_library.Histogram.__module__ == "tinygram._native"
    assert of_bench.Histogram.__module__ == "tinygram_bench._native"
