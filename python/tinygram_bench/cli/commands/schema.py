"""`tinygram schema`: what a result file looks like, for programs that read one."""

from __future__ import annotations

import msgspec

from tinygram_bench.model.plain_text import write_json
from tinygram_bench.schema import json_schema


def schema() -> None:
    """Print the JSON Schema of a result file."""
    write_json(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2))
