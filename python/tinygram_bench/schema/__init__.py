"""The JSON Schema of result files, which explains each property, counter, figure and histogram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tinygram_bench.model.result import Result
from tinygram_bench.schema.counters import COUNTERS
from tinygram_bench.schema.figures import FIGURES, FIGURES_OF_RUNS, HISTOGRAMS
from tinygram_bench.schema.properties import PROPERTIES

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a result file. Raises KeyError for an unknown property."""
    schema = msgspec.json.schema(Result)
    structs = schema["$defs"]
    for name, struct in structs.items():
        for property, found in struct.get("properties", {}).items():
            found["description"] = PROPERTIES[name][property]
    run, summary = structs["Run"]["properties"], structs["Summary"]["properties"]
    said_of_histograms = {name: f"what it samples: {words}" for name, words in HISTOGRAMS.items()}
    _list(run["counters"], {name: _in_words(*said) for name, said in COUNTERS.items()})
    _list(run["histograms"], said_of_histograms)
    _list(run["sample_counts"], said_of_histograms)
    _list(run["figures"], {name: _in_words(*said) for name, said in FIGURES_OF_RUNS.items()})
    _list(summary["figures"], {name: _in_words(*said) for name, said in FIGURES.items()})
    return schema


def _list(found: dict[str, Any], names: Mapping[str, str]) -> None:
    """Let a mapping have only these names as keys, each with its description."""
    kind = found.pop("additionalProperties")
    found["properties"] = {name: {**kind, "description": words} for name, words in names.items()}
    found["additionalProperties"] = False


def _in_words(unit: str, meaning: str) -> str:
    return f"{meaning}; unit: {unit}"
