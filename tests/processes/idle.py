"""A process that is told orders, as far as the bench sees it, and that does nothing."""

from __future__ import annotations

from tinygram_bench.processes.children import Told


class IdleProcess:
    """It ends when it is waited for."""

    failure: str | None = None
    is_cut_off = False

    def __init__(self, role: str) -> None:
        self.role = role

    def wait_ended(self, _seconds: float) -> bool:
        return True


class IdleTold(Told):
    """Its process has no number, and uses no CPU time."""

    def cpu_ns(self) -> int:
        return 0
