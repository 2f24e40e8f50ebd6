"""What `help()` and errors tell of the library, and that strategies are the command's."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import pydoc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.library.setups import Setup
from tests.library.wires import Pair

import tinygram
from tinygram_bench.model.strategies import parse_strategy

FACES = (
    tinygram.batch,
    tinygram.Batch,
    tinygram.CoalescingSocket,
    tinygram.new_event_loop,
    tinygram.open_connection,
    tinygram.open_unix_connection,
    tinygram.start_server,
    tinygram.start_unix_server,
    tinygram.create_connection,
    tinygram.create_unix_connection,
    tinygram.create_server,
    tinygram.create_unix_server,
)
KNOBS = ("strategy", "max_bytes", "max_hold_us", "max_buffered_bytes")


def public_things() -> Iterator[tuple[str, Any]]:
    for name in tinygram.__all__:
        thing = getattr(tinygram, name)
        if name != "__version__":
            yield name, thing
        if inspect.isclass(thing):
            for member in dir(thing):
                bases = (OSError, asyncio.StreamWriter)
                is_inherited = any(hasattr(base, member) for base in bases)
                if not member.startswith("_") and not is_inherited:
                    yield f"{name}.{member}", inspect.getattr_static(thing, member)


@pytest.mark.parametrize(("name", "thing"), [*public_things()])
def test_everything_public_is_documented(name: str, thing: Any) -> None:
    words = inspect.getdoc(thing) or ""
    if words.startswith("Alias for field number"):
        # All that Python says of a named tuple's field: its class says what it is.
        owner, _, field = name.partition(".")
        of_class = inspect.getdoc(getattr(tinygram, owner)) or ""
        words = of_class.partition(f"\n- `{field}`: ")[2].partition("\n")[0]
    assert len(words) > 10, name


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_knobs_are_shown_with_their_types_and_defaults(face: Any) -> None:
    parameters = inspect.signature(face).parameters
    assert [name for name in parameters if name in KNOBS] == list(KNOBS)
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in KNOBS)
    assert parameters["strategy"].default == tinygram.adaptive
    shown = pydoc.plain(pydoc.render_doc(face))
    for knob in ("strategy: 'Strategy' = tinygram.adaptive", "max_bytes: 'int' = "):
        assert knob in shown


def test_strategies_are_explained_where_help_is_asked_of_one() -> None:
    shown = pydoc.plain(pydoc.render_doc(tinygram.tick))
    calls = ("coalesce(hold_us)", "competitive(price_us)")
    for name in ("adaptive", "tick", "combine", *calls, "nodelay", "nagle"):
        assert f"tinygram.{name}" in shown


def test_a_transport_shows_what_asyncio_s_does_and_its_stats() -> None:
    shown = {name for name in dir(tinygram.Transport) if not name.startswith("_")}
    assert shown == {name for name in dir(asyncio.Transport) if not name.startswith("_")} | {
        "send_many",
        "stats",
    }


def test_a_knob_that_there_is_not_is_named_as_the_user_wrote_it(unix_pair: Pair) -> None:
    with pytest.raises(TypeError, match=r"^batch\(\) got an unexpected .* 'maxbytes'"):
        tinygram.batch(unix_pair[0], maxbytes=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^CoalescingSocket\..* got an unexpected .* 'maxbytes'"):
        tinygram.CoalescingSocket(unix_pair[0], maxbytes=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^new_event_loop\(\) got an unexpected .* 'strategi'"):
        tinygram.new_event_loop(strategi=tinygram.tick)  # type: ignore[call-arg]


def test_a_loop_that_was_forgotten_is_asked_for() -> None:
    for create in (tinygram.create_connection, tinygram.create_server):
        with pytest.raises(TypeError, match="the first argument must be the event loop"):
            asyncio.run(create(asyncio.Protocol, "localhost", 80))  # type: ignore


@pytest.mark.parametrize("is_client", [True, False], ids=["client", "server"])
def test_writers_of_streams_are_what_their_type_says(setup: Setup, is_client: bool) -> None:
    """Also that asyncio's own writer, become ours, still closes and is waited for."""

    async def program(_: Any) -> None:
        served: asyncio.Future[asyncio.StreamWriter] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: tinygram.StreamWriter) -> None:
            served.set_result(writer)
            writer.write(await reader.read(100))
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        server = await tinygram.start_server(serve, "127.0.0.1", 0, strategy=tinygram.tick)
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await tinygram.open_connection("127.0.0.1", port)
            writer.write(b"message")
            assert await reader.read() == b"message"
            one = writer if is_client else await served
            assert isinstance(one, tinygram.StreamWriter)
            assert isinstance(one.transport, tinygram.Transport)
            assert one.transport.stats().messages == 1
            writer.close()
            await writer.wait_closed()

    setup.run(program)


STRATEGIES = st.one_of(
    st.sampled_from(
        [tinygram.adaptive, tinygram.tick, tinygram.combine, tinygram.nodelay, tinygram.nagle]
    ),
    st.floats(0.001, 3.6e9).map(tinygram.coalesce),
    st.integers(1, 3_600_000_000).map(tinygram.coalesce),
    st.floats(0.001, 3.6e9).map(tinygram.competitive),
    st.integers(1, 3_600_000_000).map(tinygram.competitive),
)


@given(STRATEGIES)
def test_a_strategy_s_text_is_the_command_s(strategy: tinygram.Strategy) -> None:
    assert parse_strategy(str(strategy)) == strategy


@given(STRATEGIES)
def test_a_strategy_s_repr_is_what_makes_it(strategy: tinygram.Strategy) -> None:
    assert eval(repr(strategy), {"tinygram": tinygram}) == strategy


@given(STRATEGIES)
def test_a_strategy_in_a_text_is_its_name(strategy: tinygram.Strategy) -> None:
    """It is a tuple, and is not shown as one."""
    assert f"{strategy}" == format(strategy) == str(strategy)
    assert f"{strategy!r}" == repr(strategy)
    assert not {"(", ","} & {*f"{strategy}"}


@given(STRATEGIES)
def test_a_strategy_is_the_same_copied_pickled_or_as_a_key(strategy: tinygram.Strategy) -> None:
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    pickled = [pickle.loads(pickle.dumps(strategy, protocol)) for protocol in protocols]
    for again in (copy.copy(strategy), copy.deepcopy(strategy), *pickled):
        assert (type(again), again) == (tinygram.Strategy, strategy)
        assert hash(again) == hash(strategy)
        assert {strategy: "found"}[again] == "found"


def test_a_second_is_spelt_as_the_command_reads_it() -> None:
    assert str(tinygram.coalesce(1_000_000)) == "coalesce:1s"
    assert str(tinygram.coalesce(10)) == "coalesce:10us"
    assert str(tinygram.coalesce(0.5)) == "coalesce:500ns"
    assert str(tinygram.competitive(5)) == "competitive:5us"


def test_a_price_is_no_hold_but_no_message_is_held_for_longer() -> None:
    price, hold = tinygram.competitive(5), tinygram.coalesce(10)
    assert (price.price_us, price.price_ns, price.hold_us) == (5, 5_000, None)
    assert (hold.hold_us, hold.hold_ns, hold.price_us) == (10, 10_000, None)
    assert [it.duration_ns for it in (price, hold, tinygram.tick)] == [5_000, 10_000, None]
    assert repr(price) == "tinygram.competitive(5)"
