"""The base of values that cross a boundary."""

from __future__ import annotations

import msgspec


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the frozen values that cross a boundary: result files, orders to processes."""
