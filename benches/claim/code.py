"""Which code was measured: its commit, and a hash over the sources that make the figures."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from tinygram.bench.result import Value

ROOT = Path(__file__).parents[2]
FOLDERS = ("crates", "python/tinygram", "benches/claim")
SUFFIXES = {".rs", ".c", ".py", ".pyi", ".toml"}


class Code(Value, frozen=True):
    """`commit` is null outside a checkout; `is_changed`: whether files differ from it."""

    commit: str | None
    is_changed: bool | None
    sources_sha256: str


def code() -> Code:
    """The code as it lies here now."""
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", *FOLDERS)
    return Code(
        commit=commit or None,
        is_changed=None if changed is None else bool(changed),
        sources_sha256=sources_sha256(ROOT),
    )


def sources_sha256(root: Path) -> str:
    """Over the names and the contents of all sources, in the order of their names."""
    whole = hashlib.sha256()
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*")):
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
