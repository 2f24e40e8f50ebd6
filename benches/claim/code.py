"""Which code was measured: its commit, and a hash over the sources that make the figures."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tinygram_bench.model.value import Value

ROOT = Path(__file__).parents[2]
JUDGE = "benches/claim"
SOURCES = ("crates", "python/tinygram", JUDGE, "Cargo.toml", "Cargo.lock")
SUFFIXES = {".rs", ".c", ".py", ".pyi", ".toml", ".lock"}


class Code(Value, frozen=True):
    """`commit` is null outside a checkout; `is_changed`: whether files differ from it.

    `judge_sha256`: of the sources that judge alone.
    """

    commit: str | None
    is_changed: bool | None
    sources_sha256: str
    judge_sha256: str


def code() -> Code:
    """The code as it lies here now."""
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", *SOURCES)
    return Code(
        commit=commit or None,
        is_changed=None if changed is None else bool(changed),
        sources_sha256=sha256_of(ROOT, SOURCES),
        judge_sha256=judge_sha256(),
    )


def judge_sha256() -> str:
    """Checksum of the code that judges, as it lies here now."""
    return sha256_of(ROOT, (JUDGE,))


def sha256_of(root: Path, sources: Sequence[str]) -> str:
    """Over the names and the contents of files and all files in folders, in their names' order."""
    whole = hashlib.sha256()
    paths: list[Path] = []
    for place in (root / name for name in sources):
        paths += place.rglob("*") if place.is_dir() else [place]
    for path in sorted(paths):
        if path.suffix in SUFFIXES and path.is_file():
            content = path.read_bytes()
            whole.update(f"{path.relative_to(root)} {len(content)}\n".encode())
            whole.update(content)
    return whole.hexdigest()


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
