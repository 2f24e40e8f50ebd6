"""What the kernel lets this process have, which is found by asking for it and giving it back."""

from __future__ import annotations

import ctypes
import errno
import os

_IO_URING_SETUP = 425
"""The number of io_uring_setup(2) on every architecture but Alpha."""
_PARAMS_BYTES = 120
"""The size of struct io_uring_params."""
_TUN = "/dev/net/tun"


def io_uring_refusal() -> str | None:
    """The reason why no io_uring can be made; None where one can."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    fd = call(_IO_URING_SETUP, 1, ctypes.create_string_buffer(_PARAMS_BYTES))
    if fd < 0:
        failed = ctypes.get_errno()
        return "the kernel has none" if failed == errno.ENOSYS else os.strerror(failed)
    os.close(fd)
    return None


def tun_refusal() -> str | None:
    """The reason why no TUN device can be opened; None where one can."""
    try:
        os.close(os.open(_TUN, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return f"{_TUN}: {error.strerror}"
    return None
