"""What rows of all workloads' registries have in common: how they can send, and what they need."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

from tinygram.strategies import Strategy
from tinygram_bench import _native
from tinygram_bench.host.packages import missing
from tinygram_bench.model.strategies import IO_URING, parse_strategy
from tinygram_bench.tls.kernel import kernel_tls_refusal

KERNEL_TLS = "kernel-tls"


class Row:
    """What rows of registries, which are Structs, inherit.

    `strategies`: those that make sense for the row. `requires`: packages that it needs, and
    IO_URING or KERNEL_TLS where it needs these of the kernel. `imports`: modules that it uses
    beside those, and that its own module, which other rows may share, does not import.
    """

    strategies: tuple[str, ...]
    requires: tuple[str, ...]
    imports: tuple[str, ...] = ()

    def import_used(self) -> None:
        """Import all that the row uses: a process then freezes what there is, for its collector."""
        for name in (*self.requires, *self.imports):
            if name not in _OF_KERNEL:
                importlib.import_module(name)

    def missing(self) -> str | None:
        """Why the row cannot run here; None where it can."""
        for need in self.requires:
            refusal = _OF_KERNEL[need]() if need in _OF_KERNEL else missing((need,))
            if refusal is not None:
                return refusal
        return None

    def supports(self, strategy: Strategy) -> bool:
        """Whether the strategy makes sense for the row, whatever its duration."""
        return strategy.name in {parse_strategy(text).name for text in self.strategies}


def _without_io_uring() -> str | None:
    refusal = _native.io_uring_refusal()
    if refusal is None:
        return None
    return f"the kernel does not permit io_uring ({refusal}): see kernel.io_uring_disabled"


_OF_KERNEL: Mapping[str, Callable[[], str | None]] = {
    IO_URING: _without_io_uring,
    KERNEL_TLS: kernel_tls_refusal,
}
