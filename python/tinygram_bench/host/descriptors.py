"""How many file descriptors this process may have."""

from __future__ import annotations

import resource


def raise_descriptor_limit() -> None:
    """Raise this process's limit of descriptors as far as permitted: each connection takes one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
