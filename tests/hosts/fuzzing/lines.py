"""Lines of anything, and what is almost what the other end of a connection says."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st
from tests.hosts.test_control_traffic import PACE, RECEIVE, SEND, SLICES

from tinygram_bench.hosts import wire
from tinygram_bench.workloads.stream.order import Order, ReceiverOrder

TOKEN = b"0123456789abcdef"
NOW_NS = 10**12

_plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_json = st.recursive(
    _plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10
)
_types = st.sampled_from(
    [each.__name__ for each in (wire.Hello, wire.Begin, wire.Tell, wire.Left, wire.Said)]
)
_fields = st.sampled_from(
    [
        *wire.Begin.__struct_fields__,
        *wire.Tell.__struct_fields__,
        *wire.Left.__struct_fields__,
        *wire.Said.__struct_fields__,
    ]
)


def _encoded(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (ValueError, UnicodeError):  # Lone surrogates, and integers above 64 bits.
        return repr(value).encode(errors="replace")


_messages = st.builds(
    lambda name, fields: _encoded({"type": name} | fields), _types, st.dictionaries(_fields, _json)
)
_ORDERS = [SEND | {"pace": PACE, "slices": SLICES}, SEND, RECEIVE]
_named = st.sampled_from([*Order.__struct_fields__, *ReceiverOrder.__struct_fields__])
_orders = st.builds(
    lambda order, changes: _encoded(order | changes),
    st.sampled_from(_ORDERS),
    st.dictionaries(_named, _json | st.integers(-2, 1 << 65), max_size=3),
)
_with_token = st.builds(
    lambda length, rest: TOKEN[:length] + rest, st.integers(0, len(TOKEN)), st.binary(max_size=40)
)
_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
_ANSWERS: list[dict[str, object]] = [
    {"port": 1, "certificate": _CERTIFICATE},
    {"reads": 1, "bytes": 2, "strangers": 0},
    {"counters": {"calls": 1}, "histograms": {"call_ns": ""}},
    {"start_ns": 1, "counters": {}, "histograms": {}, "fault": None},
    {"counters": {}, "histograms": {}, "start_ns": 1, "totals_us": [1.5]},
    {"publications": 1, "counters": {"writes": None}},
    {"pids": [1]},
]
_answered = st.sampled_from(sorted({name for answer in _ANSWERS for name in answer}))
_answers = st.builds(
    lambda answer, changes: answer | changes,
    st.sampled_from(_ANSWERS),
    st.dictionaries(_answered, _json | st.integers(-2, 1 << 65), max_size=2),
)
_said = st.builds(
    lambda number, line: _encoded({"type": "Said", "number": number, "line": line}),
    st.integers(0, 1),
    _answers | _json,
)
_lists = st.lists(_answers, max_size=2)
_times = st.lists(st.integers(0, (1 << 64) - 1) | st.integers(NOW_NS, 2 * NOW_NS), max_size=9)
_notes = _times.map(lambda times: b"".join(each.to_bytes(8, "little") for each in times))
_COLUMNS: dict[str, object] = {
    "kinds": [[["a"], ["b", "c"]]],
    "kind_of": [0],
    "columns": [[[1], [2]]],
}
_row_paths = st.lists(st.lists(st.text(max_size=1), max_size=3), max_size=3)
_columns = st.builds(
    lambda name, changes: _encoded({"plan": {}, name: _COLUMNS | changes}),
    st.sampled_from(["runs", "summaries", "verdicts"]),
    st.fixed_dictionaries(
        {},
        optional={
            "kinds": st.lists(_row_paths, max_size=2),
            "kind_of": st.lists(st.integers(-1, 2), max_size=4),
            "columns": st.lists(st.lists(st.lists(_json, max_size=2), max_size=3), max_size=2),
        },
    ),
)
_of_clients = _messages | _orders | _with_token
_of_servers = _answers.map(_encoded) | _lists.map(_encoded) | _said | _notes
LINES = st.binary(max_size=2_000) | _json.map(_encoded) | _of_clients | _of_servers | _columns
