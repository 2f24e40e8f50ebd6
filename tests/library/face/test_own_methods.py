"""The public classes have methods of their own for messages, which are called the short way.

They are the native module's: what they do, say and refuse is the same as what they would inherit.
"""

from __future__ import annotations

import dis
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from tests.library.setups import LONG
from tests.library.wires import Pair, receive_exactly

import tinygram
from tinygram import _native

METHODS = [
    (tinygram.Batch, "send"),
    (tinygram.CoalescingSocket, "send"),
    (tinygram.CoalescingSocket, "sendall"),
]
each_method = pytest.mark.parametrize(("owner", "name"), METHODS)


@each_method
def test_it_is_the_class_s_own_and_shows_what_the_inherited_one_shows(
    owner: Any, name: str
) -> None:
    method, inherited = owner.__dict__[name], getattr(owner.__base__, name)
    assert method.__objclass__ is owner
    assert method.__qualname__ == f"{owner.__name__}.{name}"
    assert method.__doc__ == inherited.__doc__
    assert inspect.signature(method) == inspect.signature(inherited)
    assert pickle.loads(pickle.dumps(method)) is method


def specialized(call: Callable[[], object]) -> list[str]:
    """What the interpreter makes of the instructions of a function that is called often."""
    for _ in range(200):
        call()
    return [it.opname for it in dis.get_instructions(call, adaptive=True)]


def test_the_interpreter_calls_it_the_short_way(unix_pair: Pair) -> None:
    out = tinygram.batch(unix_pair[0], strategy=LONG)

    def send() -> None:
        out.send(b"message")

    assert [name for name in specialized(send) if name.endswith("METHOD_DESCRIPTOR_O")]
    out.flush()


def test_a_subclass_has_it_too_and_may_have_another(unix_pair: Pair) -> None:
    ours, peer = unix_pair

    class Counting(tinygram.Batch):
        count = 0

        def send(self, data: Any) -> None:
            self.count += 1
            super().send(data)

    class Plain(tinygram.Batch):
        pass

    with Counting(ours) as counting:
        counting.send(b"counted ")
    with Plain(ours) as plain:
        plain.send(b"plain")
    assert counting.count == 1
    assert receive_exactly(peer, 13) == b"counted plain"


def test_it_refuses_objects_of_other_classes(unix_pair: Pair) -> None:
    ours, peer = unix_pair
    # Natively it is what the public class is a subclass of, so that its memory would be read.
    native = _native.Batch(ours.fileno, tinygram.strategies.native_knobs())
    sock = tinygram.CoalescingSocket(peer)
    send: Any = tinygram.Batch.send
    for other in (native, sock, object(), None):
        with pytest.raises(TypeError, match=r"descriptor 'send' .*'Batch'"):
            send(other, b"message")
    sock.abort()


@pytest.mark.parametrize("other", [int, object, tinygram.Stats, _native.Histogram])
def test_no_other_class_is_given_them(other: Any) -> None:
    with pytest.raises(TypeError, match=f"{other.__name__} is no subclass of Batch"):
        _native.with_message_methods(other)


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(TypeError):
        _native.with_message_methods(None)  # type: ignore[type-var]
