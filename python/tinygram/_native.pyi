"""The native module: thin classes over crates/core and crates/net, primitives in and out."""

__version__: str

class Histogram:
    """An HDR histogram of nanoseconds with 3 significant digits (http://hdrhistogram.org)."""

    def __init__(self) -> None: ...
    @staticmethod
    def from_base64(text: str) -> Histogram:
        """Read the standard V2 (compressed) base64 form; ValueError when it is not one."""

    def to_base64(self) -> str:
        """The standard V2 compressed base64 form."""

    def record(self, value_ns: int) -> None:
        """Add one value; values above one hour count as one hour."""

    def merge(self, other: Histogram) -> None:
        """Add all of `other`'s values."""

    def percentile_ns(self, percentile: float) -> int:
        """The value that `percentile` (0 … 100) of all values do not exceed; 0 when empty."""

    @property
    def count(self) -> int: ...
    @property
    def min_ns(self) -> int: ...
    @property
    def max_ns(self) -> int: ...
    @property
    def mean_ns(self) -> float: ...
