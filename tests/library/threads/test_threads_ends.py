"""Many threads on one connection, and the process ends, or becomes two."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from tests.library.wires import (
    LONGEST_S,
    STALLED,
    Pair,
    finish,
    receive_all,
    receive_exactly,
    start_python,
    wait_until,
)

import tinygram
from tinygram import CoalescingSocket

LONG = tinygram.coalesce(3_600_000_000)


def in_child(act: object) -> None:
    """Run it in a forked child; AssertionError unless it returned within a minute."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(60)
            act()  # type: ignore[operator]
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_child_drops_what_its_parent_holds_and_the_parent_sends_it_once(pair: Pair) -> None:
    ours, peer = pair
    sock = CoalescingSocket(ours, strategy=LONG)
    sock.send(b"parent's;")

    def child() -> None:
        assert sock.held_bytes == 0
        assert sock.stats().messages == 0
        sock.send(b"child's;")
        sock.flush(timeout_s=LONGEST_S)

    in_child(child)
    assert receive_exactly(peer, 8) == b"child's;"
    sock.close(timeout_s=LONGEST_S)
    assert receive_all(peer) == b"parent's;"


def test_a_child_that_closes_leaves_the_parent_its_connection(pair: Pair) -> None:
    """Leaving a `with` block in a child is enough to close."""
    ours, peer = pair
    sock = CoalescingSocket(ours, strategy=LONG)
    sock.send(b"parent's;")

    def child() -> None:
        with sock:
            sock.send(b"child's;")
        assert ours.fileno() == -1

    in_child(child)
    assert receive_exactly(peer, 8) == b"child's;"
    assert sock.held_bytes == 9
    sock.close(timeout_s=LONGEST_S)
    assert receive_all(peer) == b"parent's;"


def test_a_fork_while_a_batch_is_half_written(pair: Pair) -> None:
    """The child sees nothing of the batch, and the peer gets each byte of it once."""
    ours, peer = pair
    sock = CoalescingSocket(ours, strategy=tinygram.combine)
    data = b"".join(b"%07d;" % number for number in range(STALLED // 8))
    sock.send(data)
    wait_until(lambda: 0 < sock.held_bytes < STALLED, "it was not cut")

    def child() -> None:
        assert sock.held_bytes == 0
        sock.flush(timeout_s=LONGEST_S)
        sock.close(timeout_s=LONGEST_S)

    in_child(child)
    received: list[bytes] = []
    reading = threading.Thread(target=lambda: received.append(receive_all(peer)))
    reading.start()
    sock.close(timeout_s=LONGEST_S)
    reading.join(timeout=LONGEST_S)
    assert received == [data]


def test_a_child_that_ends_as_programs_do_says_and_sends_nothing(unix_pair: Pair) -> None:
    ours, peer = unix_pair
    script = f"""{HEAD}
out = tinygram.CoalescingSocket(sock, strategy=LONG)
out.send(b"once")
pid = os.fork()
if pid:
    print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    # Since 3.12 Python warns of any fork of a process with threads.
    options = ("-W", "ignore::DeprecationWarning")
    out, err = finish(start_python(script, ours, options=options), 0)
    assert (out, err) == ("child 0\n", "")
    assert receive_all(peer) == b"once"


def test_a_fork_while_others_send_leaves_no_lock_locked(pair: Pair) -> None:
    """A lock that another thread held at the fork is locked for ever in the child."""
    ours, peer = pair
    sock = CoalescingSocket(ours, strategy=tinygram.combine)
    is_over = threading.Event()
    received = bytearray()

    def send() -> None:
        while not is_over.is_set():
            sock.send(b"0123456789")

    def read() -> None:
        received.extend(receive_all(peer))

    def child() -> None:
        assert sock.held_bytes == 0

    threads = [threading.Thread(target=act, daemon=True) for act in (send, send, read)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        in_child(child)
    is_over.set()
    for thread in threads[:2]:
        thread.join(timeout=LONGEST_S)
        assert not thread.is_alive()
    sock.close(timeout_s=LONGEST_S)
    threads[2].join(timeout=LONGEST_S)
    assert received == b"0123456789" * sock.stats().messages


HEAD = """
import os, threading, time
import tinygram
LONG = tinygram.coalesce(3_600_000_000)
"""

ENDS = {
    "returns": ("", 0),
    "raises": ("raise KeyError('the program own')", 1),
    "exits": ("sys.exit(3)", 3),
    "is interrupted": ("os.kill(os.getpid(), 2); time.sleep(10)", -2),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_is_held_is_sent_when_the_program_ends(unix_pair: Pair, end: str) -> None:
    """nats.go #333, tokio #2484."""
    ours, peer = unix_pair
    how, status = ENDS[end]
    script = (
        f"{HEAD}\nout = tinygram.CoalescingSocket(sock, strategy=LONG)\nout.send(b'held')\n{how}"
    )
    finish(start_python(script, ours), status)
    assert receive_all(peer) == b"held"


TELLS_ITS_END = """
import atexit, sys, time
starts = []
# The other way round than they are registered: this one comes last.
atexit.register(lambda: print("waited", time.monotonic() - starts[0], file=sys.stderr))
import tinygram
atexit.register(lambda: starts.append(time.monotonic()))
"""


def test_a_child_that_closes_gives_its_descriptor_back(pair: Pair) -> None:
    """The peer learns of the end when the parent has closed, though the child lives on."""
    ours, peer = pair
    sock = CoalescingSocket(ours)
    sock.send(b"parent's;")
    is_closed, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        sock.close()
        del sock
        os.write(tell, b".")
        signal.pause()
        os._exit(1)
    try:
        assert os.read(is_closed, 1) == b"."
        # Without shutdown(2), which would end the connection whoever else has it.
        del sock
        ours.close()
        assert receive_all(peer) == b"parent's;"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(is_closed)
        os.close(tell)


def test_one_stalled_peer_does_not_use_up_the_last_second_of_others(unix_pair: Pair) -> None:
    ours, peer = unix_pair
    script = f"""{HEAD}
other, its_peer = socket.socketpair()
stalled = tinygram.CoalescingSocket(other)
stalled.send(bytes({STALLED}))
out = tinygram.CoalescingSocket(sock, strategy=LONG)
out.send(b"delivered")
"""
    _, err = finish(start_python(script, ours), 0)
    assert receive_all(peer) == b"delivered"
    assert err.count("not sent") == 1


OUT = "out = tinygram.CoalescingSocket(sock, strategy=LONG)"


@pytest.mark.parametrize(
    ("before", "in_child"),
    [("import multiprocessing", OUT), (f"{OUT}\nimport multiprocessing", "pass")],
    ids=["its own socket", "a socket older than multiprocessing"],
)
def test_a_child_of_multiprocessing_delivers_when_it_ends(
    unix_pair: Pair, before: str, in_child: str
) -> None:
    """It ends without atexit."""
    ours, peer = unix_pair
    script = f"""{HEAD}
{before}

def child():
    {in_child}
    out.send(b"delivered")

process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
assert process.exitcode == 0
"""
    finish(start_python(script, ours), 0)
    assert receive_all(peer) == b"delivered"


def assert_ended_in_a_second(err: str) -> None:
    """A second, and what a busy machine adds; a socket's own timeout is a minute."""
    waited_s = [float(line.split()[1]) for line in err.splitlines() if line.startswith("waited")]
    assert len(waited_s) == 1, err
    assert 0.9 < waited_s[0] < 30


def test_what_cannot_be_sent_when_the_program_ends_is_said(unix_pair: Pair) -> None:
    ours, peer = unix_pair
    script = f"""{HEAD}
out = tinygram.CoalescingSocket(sock, strategy=tinygram.combine)
out.send(bytes({STALLED}))
"""
    _, err = finish(start_python(TELLS_ITS_END + script, ours), 0)
    assert_ended_in_a_second(err)
    assert "CoalescingSocket" in err
    assert "not sent" in err
    assert len(receive_all(peer)) < STALLED


def test_daemon_threads_that_wait_for_room_when_the_program_ends(unix_pair: Pair) -> None:
    """They hold it up no longer than what they sent before does."""
    ours, peer = unix_pair
    script = f"""{HEAD}
out = tinygram.CoalescingSocket(sock, strategy=tinygram.combine, max_buffered_bytes=50_000)

def send():
    while True:
        out.send(bytes(1000))

for _ in range(4):
    threading.Thread(target=send, daemon=True).start()
while out.held_bytes < 49_000:
    time.sleep(0.01)
time.sleep(0.1)
"""
    _, err = finish(start_python(TELLS_ITS_END + script, ours), 0)
    assert_ended_in_a_second(err)
    assert "not sent" in err
    assert len(receive_all(peer)) > 0


@pytest.mark.parametrize("strategy", ["LONG", "tinygram.combine", "tinygram.adaptive"])
def test_a_daemon_thread_that_sends_while_the_program_ends(unix_pair: Pair, strategy: str) -> None:
    """Each message that `send` took arrives, or the thread did not get so far."""
    ours, peer = unix_pair
    script = f"""
import atexit, time
# Comes after what tinygram does at exit: the thread has time to send more.
atexit.register(time.sleep, 0.2)
{HEAD}
out = tinygram.CoalescingSocket(sock, strategy={strategy})
taken = os.open(sys.argv[2], os.O_WRONLY)

def send():
    for number in range(10**9):
        out.send(b"%09d;" % number)
        os.write(taken, b"x")

threading.Thread(target=send, daemon=True).start()
while os.fstat(taken).st_size == 0:
    time.sleep(0.01)
time.sleep(0.2)
"""
    reading = threading.Thread(target=lambda: received.append(receive_all(peer)))
    received: list[bytes] = []
    with open(os.memfd_create("taken"), "rb") as taken:
        path = f"/proc/{os.getpid()}/fd/{taken.fileno()}"
        process = start_python(script, ours, path)
        reading.start()
        finish(process, 0)
        reading.join(timeout=LONGEST_S)
        count = os.fstat(taken.fileno()).st_size
    assert count > 0
    messages = received[0].split(b";")
    assert messages.pop() == b""
    assert messages == [b"%09d" % number for number in range(len(messages))]
    assert len(messages) >= count


def test_a_destructor_that_sends_while_python_ends_is_told_what_is_wrong(unix_pair: Pair) -> None:
    """PyO3 attaches no thread then, and panics where it is asked to."""
    script = f"""{HEAD}
class Sender:
    out = tinygram.CoalescingSocket(sock)

    def __del__(self):
        self.out.send(b"late")

sender = Sender()
sender.out.close()
"""
    _, err = finish(start_python(script, unix_pair[0]), 0)
    assert "Sender.__del__" in err
    assert err.endswith("OSError: [Errno 9] the socket is closed\n")
