"""Counts of instructions, writes and wake-ups: what callgrind's files say, and what is a move."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import counts
import pytest
from counts.__main__ import main, row_of
from counts.callgrind import dumps, own_instructions
from counts.faces import FACES
from counts.judging import OF_COMPILER, Count, Counts, differences, moved
from published.stored import ROWS, Asked, read

DUMP = """\
# callgrind format
version: 1
desc: Trigger: Client Request: Batch.send
positions: line
events: Ir

ob=/usr/bin/python3.11
fl=ceval.c
fn=eval
10 200
+3 50
cob=/lib/tinygram/_native.abi3.so
cfn=send
calls=64 0
12 7000
* 5

ob=/lib/tinygram/_native.abi3.so
fn=send
0 6400
cob=/lib/libc.so.6
cfn=memcpy
calls=64 0
0 600

ob=/lib/libc.so.6
fn=memcpy
0 600
"""


def test_what_is_called_counts_for_its_own_file_alone() -> None:
    assert own_instructions(DUMP.splitlines()) == {
        "/usr/bin/python3.11": 255,
        "/lib/tinygram/_native.abi3.so": 6400,
        "/lib/libc.so.6": 600,
    }


def test_a_dump_is_found_by_the_face_that_asked_for_it(tmp_path: Path) -> None:
    (tmp_path / "callgrind.out.1").write_text(DUMP)
    (tmp_path / "callgrind.out").write_text(DUMP.replace("Client Request", "Program termination"))
    (found,) = dumps(tmp_path).items()
    assert found[0] == "Batch.send"
    assert found[1].total() == 7255


COUNTS = Counts(
    {"machine": "x86_64", "rustc": "1.85.0", "python": "CPython 3.11"},
    {"send": Count(100.0, 0.001, 0.0), "lists": Count(None, 1 / 64, 1 / 64)},
)


def with_face(name: str, count: Count) -> Counts:
    return Counts(COUNTS.made_with, {**COUNTS.faces, name: count})


def test_they_are_the_same_when_they_are_read_again() -> None:
    assert Counts.from_json(COUNTS.to_json()) == COUNTS
    assert moved(COUNTS, COUNTS) == []


@pytest.mark.parametrize(
    ("instructions", "is_moved"),
    [(103.0, False), (97.0, False), (103.1, True), (96.9, True), (None, True)],
)
def test_instructions_may_move_a_little(instructions: float | None, is_moved: bool) -> None:
    found = with_face("send", replace(COUNTS.faces["send"], instructions=instructions))
    told = moved(found, COUNTS)
    assert bool(told) == is_moved
    assert not told or told[0].startswith("send: ")
    assert not told or "expected 100.0 ± 3%" in told[0]


def test_writes_and_wake_ups_may_not() -> None:
    found = with_face("lists", Count(None, 2 / 64, 3 / 64))
    assert moved(found, COUNTS) == [
        "lists: 0.03125 writes a message, expected 0.015625",
        "lists: 0.046875 wakes a message, expected 0.015625",
    ]


def test_where_the_compiler_is_another_one_writes_and_wake_ups_are_judged_alone() -> None:
    found = with_face("send", Count(1e6, 0.5, 0.0))
    (told,) = moved(found, COUNTS, has_instructions=False)
    assert told.startswith("send: 0.5 writes a message, expected ")
    for fact, is_of_compiler in {"machine": 1, "rustc": 1, "python": 0, "uvloop": 0}.items():
        other = Counts({**COUNTS.made_with, fact: "another"}, COUNTS.faces)
        assert bool(differences(other, COUNTS, OF_COMPILER)) != is_of_compiler


def test_a_face_that_is_new_or_gone_is_told() -> None:
    more = with_face("new", Count(1.0, 0.0, 0.0))
    assert moved(more, COUNTS) == ["new: not expected"]
    assert moved(COUNTS, more) == ["new: not counted"]


@pytest.mark.parametrize("fact", ["machine", "rustc", "python", "uvloop"])
def test_what_was_made_differently_is_not_comparable(fact: str) -> None:
    other = Counts({**COUNTS.made_with, fact: "another"}, COUNTS.faces)
    (told,) = differences(other, COUNTS)
    assert told.startswith(f"{fact} is another, and was ")
    assert differences(COUNTS, COUNTS) == []


def test_every_face_has_what_is_expected_of_it() -> None:
    path = Path(counts.__file__).with_name("expected.json")
    assert list(Counts.from_json(path.read_text()).faces) == list(FACES)


def test_what_was_asked_is_reached_by_the_ratio_itself_and_not_by_what_it_is_rounded_to() -> None:
    for ratio, is_reached in {2.3977: False, 2.4: True, None: None}.items():
        row = row_of("uvloop, write", {"by_hand_ratio": ratio}, ratio)
        assert (row.asked, row.is_reached) == (Asked(at_least=2.4), is_reached)
    assert row_of("uvloop, writelines", {"by_hand_ratio": 3.4}, 3.4).asked is None


def test_the_stored_rows_say_what_their_ratios_reach() -> None:
    rows = read(ROWS / "speed.json").tables["counts"].rows
    assert [row.row for row in rows] == list(FACES)
    for row in rows:
        ratio = row.figures["by_hand_ratio"]
        assert ratio is None or isinstance(ratio, float)
        assert row == row_of(row.row, row.figures, ratio)


def test_a_word_that_it_does_not_know_ends_it_before_anything_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["counts", "--renow"])
    with pytest.raises(SystemExit, match="2"):
        main()
