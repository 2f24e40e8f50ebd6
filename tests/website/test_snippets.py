"""Python in the documentation runs: each snippet with the names that it takes for granted."""

from __future__ import annotations

import ast
import asyncio
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

import tinygram

ROOT = Path(__file__).parents[2]
DROP_IN = "asyncio.Runner(loop_factory=tinygram.new_event_loop)"
README, TUTORIAL = "README.md", "docs/tutorial/a-forty-ms-tail.md"
LIBRARY, GATE = "docs/how-to/use-the-library.md", "docs/how-to/gate-in-ci.md"
BENCH = "docs/how-to/measure-from-python.md"
TLS = "docs/how-to/measure-tls.md"
COUNTS = {README: 1, TUTORIAL: 2, LIBRARY: 1, GATE: 2, BENCH: 2, TLS: 1}
"""Page → the number of its snippets. BENCH's comparison runs in tests/api; that of TLS needs the
source of another program, and does not run."""
QUICK = "duration=20_000_000, rounds=1, quiet=True"


def snippets(page: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def piece(page: str, words: str) -> str:
    """The paragraph of the page's snippets that has these words."""
    pieces = [each for snippet in snippets(page) for each in snippet.split("\n\n")]
    [found] = [each for each in pieces if words in each]
    return found


def ran(text: str, **names: Any) -> dict[str, Any]:
    """The names after the text was run, in an event loop where it awaits something."""
    known = {"asyncio": asyncio, "socket": socket, "tinygram": tinygram, "uvloop": uvloop, **names}
    exec(compile(text, "a snippet", "exec"), known)
    return known


async def awaited(text: str, **names: Any) -> dict[str, Any]:
    """What `ran` does, for a text that awaits something."""
    known = {"asyncio": asyncio, "tinygram": tinygram, **names}
    code = compile(text, "a snippet", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    waiting = eval(code, known)
    if waiting is not None:
        await waiting
    return known


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_each_snippet_of_the_documentation_is_one_of_these() -> None:
    pages = [ROOT / README, *(ROOT / "docs").rglob("*.md")]
    found = {str(page.relative_to(ROOT)): page.read_text().count("```python\n") for page in pages}
    assert {page: count for page, count in found.items() if count} == COUNTS


@pytest.mark.parametrize("page", [README, TUTORIAL, LIBRARY])
def test_a_program_on_the_drop_in_loop(page: str, listener: socket.socket) -> None:
    async def main() -> None:
        _, writer = await asyncio.open_connection(*listener.getsockname())
        for message in (b"one", b"two"):
            writer.write(message)
        transport: Any = writer.transport
        writer.close()
        await writer.wait_closed()
        counted.append(transport.stats().messages)

    counted: list[int] = []
    ran(piece(page, DROP_IN), main=main)
    assert received(listener) == b"onetwo"
    assert counted == [2]


def test_a_loop_on_uvloop_with_knobs() -> None:
    loop = ran(piece(LIBRARY, "uvloop.Loop"))["loop"]
    try:
        assert isinstance(loop, uvloop.Loop)
        assert loop.run_until_complete(asyncio.sleep(0, "ran")) == "ran"
    finally:
        loop.close()


def test_a_single_connection_of_an_event_loop(listener: socket.socket) -> None:
    async def connect() -> None:
        host, port = listener.getsockname()
        names = await awaited(piece(LIBRARY, "open_connection(host"), host=host, port=port)
        names["writer"].write(b"streams")
        names["writer"].close()
        await names["writer"].wait_closed()
        text = piece(LIBRARY, "create_connection(loop")
        names = await awaited(text, host=host, port=port, Quotes=asyncio.Protocol)
        assert isinstance(names["protocol"], asyncio.Protocol)
        names["transport"].write(b"protocols")
        names["transport"].close()

    asyncio.run(connect())
    assert [received(listener) for _ in range(2)] == [b"streams", b"protocols"]


def received(listener: socket.socket) -> bytes:
    """All that the next connection brings until its end."""
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as file:
        return file.read()


def test_a_plain_loop(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()) as sock:
        ran(piece(LIBRARY, "tinygram.batch"), sock=sock, messages=[b"one", b"two"])
    assert received(listener) == b"onetwo"


def test_many_threads(listener: socket.socket) -> None:
    text = piece(LIBRARY, "CoalescingSocket")
    ran(text, address=listener.getsockname(), frame=b"a frame")
    assert received(listener) == b"a frame"


def test_the_remedy_of_the_tutorial(listener: socket.socket) -> None:
    async def connect() -> None:
        own = socket.socket()  # asyncio does not know of it that it is TCP.
        own.setblocking(False)
        await asyncio.get_running_loop().sock_connect(own, listener.getsockname())
        _, writer = await asyncio.open_connection(sock=own)
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0
        ran(piece(TUTORIAL, "TCP_NODELAY"), writer=writer)
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        writer.close()
        await writer.wait_closed()

    asyncio.run(connect())


@pytest.mark.parametrize(("sends", "passes"), [(1, True), (2, False)])
def test_the_gate_in_pytest(tmp_path: Path, sends: int, passes: bool) -> None:
    plugin, test = snippets(GATE)
    (tmp_path / "conftest.py").write_text(plugin)
    given = (
        "import socket\nimport pytest\n\n"
        "@pytest.fixture\ndef connection():\n"
        "    ours, other = socket.socketpair()\n"
        "    with ours, other:\n        yield ours\n\n"
        f"def respond(connection):\n    for _ in range({sends}):\n        connection.send(b'a')\n\n"
    )
    (tmp_path / "test_response.py").write_text(given + test)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert passes or "200 writes for 100 messages are 2 a message" in done.stdout


def test_a_measurement_from_python(tmp_path: Path) -> None:
    [text] = [each for each in snippets(BENCH) if "Plan.stream(" in each]
    quick = text.replace("duration=500_000_000", QUICK)
    assert QUICK in quick
    done = subprocess.run(
        [sys.executable, "-c", f"{quick}\nprint(len(summaries) > len(plan.cases))"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *answer, last = done.stdout.splitlines()
    assert answer
    assert last == "True"
    assert list(tmp_path.iterdir()) == []
