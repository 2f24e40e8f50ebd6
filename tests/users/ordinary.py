"""Users without rights who run a command: setpriv(1) and unshare(1) make them of whoever tests.

Where root tests, they are `nobody`, to whom what lies in a closed directory (a home, a checkout) is
shown in a mount namespace of the command's own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from pathlib import Path

import pytest
from tests.support.command import Command

_CHECKOUT = Path(__file__).parents[2]
_NOBODY = 65_534
_WITHOUT_RIGHTS = "setpriv --inh-caps=-all --bounding-set=-all --no-new-privs"
_AS_NOBODY = f"setpriv --reuid={_NOBODY} --regid={_NOBODY} --clear-groups --inh-caps=-all"
# A user namespace that permits no other, as most containers have none: its root has no rights.
_IN_A_CONTAINER = (
    "unshare --user --map-root-user sh -c "
    + shlex.quote(f'echo 0 > /proc/sys/user/max_user_namespaces && exec {_WITHOUT_RIGHTS} "$@"')
    + " sh"
)

USERS = ("ordinary", "container")
"""A user without rights, and root without capabilities where no namespace can be made."""


def words_of(user: str, kept: Path) -> tuple[str, ...]:
    """What runs a command as this user. `kept`: an empty folder, used while it runs."""
    for tool in ("setpriv", "unshare"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} (util-linux) is missing")
    enter = _IN_A_CONTAINER if user == "container" else _WITHOUT_RIGHTS
    if os.geteuid() != 0:
        return tuple(shlex.split(enter))
    script = f'{_shown(kept)} exec {_AS_NOBODY} {enter} "$@"'
    return ("unshare", "--mount", "sh", "-ec", script, "sh")


def started_by(words: tuple[str, ...], folder: Path, subcommand: str) -> Command:
    """`tinygram SUBCOMMAND` in a folder where everybody may write, run by those words."""
    command = Command(folder, subcommand)
    command.temporary.chmod(0o777)
    command.through = ("env", f"HOME={folder}", *words)
    return command


def _shown(kept: Path) -> str:
    """Shell commands after which all may read the interpreter and the checkout."""
    needed = {Path(sys.prefix), Path(sys.base_prefix), _CHECKOUT.resolve()}
    shown = {path: kept / str(at) for at, path in enumerate(sorted(needed)) if _closed(path)}
    closed = sorted({each for path in shown for each in _closed(path)[:1]})
    commands = []
    for path, at in shown.items():
        at.mkdir()
        commands.append(f"mount --bind {path} {at}")
    commands += [f"mount -t tmpfs -o mode=755 tmpfs {directory}" for directory in closed]
    commands += [f"mkdir -p {path}; mount --bind {at} {path}" for path, at in shown.items()]
    return "".join(f"{command}; " for command in commands)


def _closed(path: Path) -> list[Path]:
    """The directories on the way to it that not everybody may enter, the outermost first."""
    way = [*reversed(path.parents), path]
    return [each for each in way if not each.stat().st_mode & stat.S_IXOTH]
