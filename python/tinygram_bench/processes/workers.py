"""The processes of a run: started, waited for asleep, and always ended.

Laws: a worker's output goes to memory, or to a channel that its parent reads, never to a pipe that
could fill up; the parent sleeps while workers work; whatever happens, no worker outlives the `with`
block (nor, by its own setting, the bench).
"""

from __future__ import annotations

import os
import re
import resource
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_LISTENING = rb"listening ([0-9]{1,5})"
_SHOWN_BYTES = 2048
"""How much of an output is searched for its first or its last line."""
_LAST_LINES = 3
_MAX_OUTPUT_BYTES = 4 << 30
_MAX_POLL_MS = (1 << 31) - 1
LISTEN_LIMIT_S = 20.0
"""How long a server or receiver may take until it listens."""
_STEP_S = 0.001
_KILLED_S = 20.0
"""How long a killed process may take to be gone, which the kernel may delay."""


class RunError(Exception):
    """A run that produced no figures; the message says what failed."""


class Worker:
    """A process with its standard output and error in memory."""

    is_cut_off = False
    """A worker is on this host, which cannot be cut off."""

    def __init__(
        self,
        role: str,
        command: Sequence[str],
        *,
        channel: int | None = None,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """Start `command` without input. Raises RunError.

        `channel`, a descriptor, is its standard input and output instead.
        """
        self.role = role
        try:
            with ExitStack() as opened:
                self._stdout = _in_memory(opened, f"{role}-stdout")
                self._stderr = _in_memory(opened, f"{role}-stderr")
                self._process = _started(
                    command,
                    stdin=subprocess.DEVNULL if channel is None else channel,
                    stdout=self._stdout if channel is None else channel,
                    stderr=self._stderr,
                    env=_within_limits(environment),
                    pass_fds=pass_fds,
                    # The parent handles Ctrl-C, and killing the group ends the worker's children,
                    # too.
                    start_new_session=True,
                )
                opened.callback(self.kill)
                self._pidfd = os.pidfd_open(self._process.pid)
                opened.pop_all()
        except OSError as error:
            raise RunError(f"the {role} did not start: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the process and all that it started."""
        try:
            self.kill()
        finally:
            for fd in (self._pidfd, self._stdout, self._stderr):
                os.close(fd)

    def kill(self) -> None:
        """End the process and its group now. Raises RunError where it may not be ended."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            # The process ended before, and so did its group.
            self._process.poll()
        except PermissionError as error:
            raise self._of_another_user() from error
        try:
            self._process.wait(_KILLED_S)
        except subprocess.TimeoutExpired as error:
            raise self._of_another_user() from error

    def _of_another_user(self) -> RunError:
        return RunError(
            f"the {self.role} (process {self.pid}) cannot be ended: does it run as another user? "
            "End it there, and start it as this user"
        )

    @property
    def output(self) -> bytes:
        """What the process has written to standard output so far."""
        return contents(self._stdout)

    @property
    def failure(self) -> str | None:
        """Why it failed; None while it runs and when it succeeded."""
        status = self._process.poll()
        if not status:
            return None
        said = "".join(f": {line}" for line in self._last_lines(1))
        if status < 0:
            return f"the {self.role} was killed by {_signal_name(-status)}{said}"
        return f"the {self.role} failed with status {status}{said}"

    @property
    def output_bytes(self) -> int:
        """How many bytes of its output are in memory."""
        return _size(self._stdout) + _size(self._stderr)

    def end_before(self, what: str) -> str:
        """The message that a worker ended before `what`: its status and last lines on stderr."""
        status = self._process.poll()
        assert status is not None, f"the {self.role} still runs"
        how = (
            f"ended with status {status}"
            if status >= 0
            else f"was killed by {_signal_name(-status)}"
        )
        lines = self._last_lines(_LAST_LINES)
        said = f"; the last that it wrote to stderr: {' / '.join(lines)}" if lines else ""
        return f"the {self.role} {how} before it {what}{said}"

    def _last_lines(self, most: int) -> list[str]:
        end = os.pread(self._stderr, _SHOWN_BYTES, max(0, _size(self._stderr) - _SHOWN_BYTES))
        lines = end.decode(errors="replace").splitlines()
        return [line.strip() for line in lines if line.strip()][-most:]

    def wait_listening(self, seconds: float) -> int:
        """Wait until the process prints `listening PORT`; return the port. Raises RunError."""
        give_up_s = time.monotonic() + seconds
        while True:
            first, newline, _ = os.pread(self._stdout, _SHOWN_BYTES, 0).partition(b"\n")
            if newline or len(first) == _SHOWN_BYTES:
                return port_of(self.role, first)
            if self._process.poll() is not None:
                raise RunError(self.failure or f"the {self.role} ended before it listened")
            if time.monotonic() > give_up_s:
                raise RunError(f"the {self.role} did not print `listening PORT` in {seconds} s")
            time.sleep(_STEP_S)

    @property
    def pid(self) -> int:
        """The pid of the process; its session has the same number."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def wait_ended(self, seconds: float) -> bool:
        """Sleep until the process has ended; False when `seconds` passed before that."""
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        return bool(poll.poll(min(max(0.0, seconds) * 1000, _MAX_POLL_MS)))

    def fileno(self) -> int:
        """Readable when the process has ended (pidfd_open(2))."""
        return self._pidfd


def _in_memory(opened: ExitStack, name: str) -> int:
    fd = os.memfd_create(name)
    opened.callback(os.close, fd)
    return fd


def session_of(pid: int) -> tuple[int, ...]:
    """The living processes of the session that the process `pid` began."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
        except OSError:  # The process has ended since it was listed.
            continue
        # After the name: state, parent, group, session (proc_pid_stat(5)).
        if int(stat.rpartition(")")[2].split()[3]) == pid:
            found.append(int(entry))
    return tuple(found)


def port_of(role: str, line: bytes) -> int:
    """The port that a worker says it listens on: `listening PORT`. Raises RunError."""
    port = re.fullmatch(_LISTENING, line)
    if port is None or int(port[1]) >= 1 << 16:
        shown = line[:100].decode(errors="replace")
        raise RunError(f"the {role} printed {shown!r}, not `listening PORT`")
    return int(port[1])


def _started(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(command, **options)
    # The limit holds for files in memory, too: a program that never stops writing is stopped.
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (_MAX_OUTPUT_BYTES, _MAX_OUTPUT_BYTES))
    return process


def _within_limits(environment: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """The environment (None: our own), with fewer heaps where the address space is limited.

    glibc reserves 64 MiB of address space for the heap of a thread, up to eight times for each
    core, and aborts a process that then has none left (mallopt(3), M_ARENA_MAX).
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return environment
    return {"MALLOC_ARENA_MAX": "2", **(os.environ if environment is None else environment)}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def contents(fd: int) -> bytes:
    """The contents of a file.

    Python allocates memory for all that a read may return, so no read asks for more than there is.
    """
    parts = []
    offset = 0
    # pread(2) returns at most 2 GiB at once.
    while part := os.pread(fd, max(0, _size(fd) - offset), offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def _size(fd: int) -> int:
    return os.fstat(fd).st_size
