"""Rows as frames of polars or pandas, whichever is asked for or installed.

Neither is imported before a frame is made, and their types are known to type checkers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from tinygram_bench.model import result as stored
from tinygram_bench.model.errors import UsageError

if TYPE_CHECKING:
    import pandas
    import polars

Library = Literal["polars", "pandas"]
"""What frames can be made of."""
_LIBRARIES: tuple[Library, ...] = ("polars", "pandas")
_REMEDY = "pip install 'tinygram[frames]'"

Row = dict[str, Any]


def framed(rows: Sequence[Row], asked: Library | None) -> polars.DataFrame | pandas.DataFrame:
    """A frame of the asked library; None: of whichever is installed.

    Raises UsageError for an unknown library, and where it, or narwhals, is not installed.
    """
    library = _installed(asked)
    import narwhals

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    made: polars.DataFrame | pandas.DataFrame
    made = narwhals.from_dict(columns, backend=library).to_native()
    return made


def case_columns(case: stored.Case) -> Row:
    """All fields of a case but the parameters of its workload; message sizes take two columns."""
    columns = msgspec.structs.asdict(case)
    sizes = columns.pop("message_bytes")
    columns.pop("parameters")
    return {**columns, "message_bytes_min": sizes.min, "message_bytes_max": sizes.max}


def figure_columns(figure: stored.Figure | None, prefix: str = "") -> Row:
    """The columns `median`, `low` and `high`, with `prefix` before each; null where unknown."""
    names = ("median", "low", "high")
    return {f"{prefix}{name}": None if figure is None else getattr(figure, name) for name in names}


def _installed(asked: Library | None) -> Library:
    if asked is not None and asked not in _LIBRARIES:
        raise UsageError(f"no frames of {asked!r}: the known ones are {', '.join(_LIBRARIES)}")
    wanted = [each for each in _LIBRARIES if asked in (None, each)]
    found = next((each for each in wanted if find_spec(each) is not None), None)
    if found is None or find_spec("narwhals") is None:
        needed = " or ".join(wanted)
        raise UsageError(f"frames need narwhals and {needed}: {_REMEDY}")
    return found
