"""Gives up root's rights once the port is open: what clients have started needs none of them."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys

from tinygram_bench import _native

_USER = "nobody"
_TRY = ("-c", "import tinygram_bench._native")


def give_up_root() -> str | None:
    """Become `nobody` if this process is root's, and give up all capabilities in any case.

    Returns why the user is still root; None where it is not. Where `nobody` may not read what is
    installed, it cannot run it: root then stays, as a user without capabilities who owns root's
    files. Raises OSError.
    """
    kept = _become_nobody() if os.getuid() == 0 else None
    _native.give_up_capabilities()
    return kept


def _become_nobody() -> str | None:
    try:
        user = pwd.getpwnam(_USER)
    except KeyError:
        return f"this host has no user {_USER}"
    try:
        tried = subprocess.run(
            [sys.executable, *_TRY],
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=False,
        )
    except OSError as error:
        return f"{_USER} may not run {sys.executable} ({error.strerror})"
    if tried.returncode != 0:
        return f"{_USER} may not read where tinygram is installed"
    os.setgroups([])
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    return None
