"""`tinygram schema`: what a result file looks like, for programs that read one."""

from __future__ import annotations

import msgspec

from tinygram.bench import store


def schema() -> None:
    """Print the JSON Schema of a result file."""
    print(msgspec.json.format(msgspec.json.encode(store.json_schema()), indent=2).decode())
