"""Results inside pages: read back as they were, whatever they are called, or refused."""

from __future__ import annotations

import contextlib
import lzma
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.small_result import RESULT

from tinygram_bench.model import store
from tinygram_bench.model.errors import UsageError
from tinygram_bench.model.result import Result
from tinygram_bench.model.store import pages
from tinygram_bench.model.store.columns import in_columns, in_rows
from tinygram_bench.model.store.pages import element_of, is_page, results_in

PAGE = b"<!doctype html>\n<title>a page</title>\n"


def page(tmp_path: Path, *elements: str, before: bytes = PAGE) -> Path:
    path = tmp_path / "page.html"
    path.write_bytes(before + "\n".join(elements).encode())
    return path


def element_of_columns(columns: bytes) -> str:
    """The element that holds these bytes, whatever they are."""
    packed = b64encode(lzma.compress(columns, preset=0)).decode()
    return f'<script type="application/x-tinygram-result" data-name="a">{packed}</script>'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(st.dictionaries(st.text(), JSON, min_size=1, max_size=4), max_size=8)


@settings(max_examples=50)
@given(
    names=st.lists(st.text(st.characters(codec="utf-8")), max_size=3),
    parts=st.fixed_dictionaries({"plan": JSON, "runs": ROWS}, optional={"verdicts": ROWS}),
)
def test_every_result_is_read_back_by_its_name(names: list[str], parts: dict[str, object]) -> None:
    content = msgspec.json.encode(parts)
    document = PAGE + "".join(element_of(name, content) for name in names).encode()
    assert is_page(document)
    assert tuple(results_in(document)) == tuple((name, content) for name in names)


def test_a_page_that_has_rows_is_read_as_well(tmp_path: Path) -> None:
    """Pages of earlier versions have them."""
    assert store.load(page(tmp_path, element_of_columns(store.encoded(RESULT)))) == RESULT


COLUMNS: dict[str, Any] = {"kinds": [[["a"]]], "kind_of": [0, 0], "columns": [[[1, 2]]]}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"kind_of": [0, 0, 0]}, "a row has no columns"),
        ({"kind_of": [0, 1]}, "a row has no columns"),
        ({"kind_of": [0, -1]}, "a row has no columns"),
        ({"columns": [[[1, 2], [3, 4]]]}, "zip"),
        ({"columns": []}, "zip"),
        ({"kinds": [[[]]]}, "not enough values"),
        (
            {"kinds": [[["a"], ["a", "b"]]], "columns": [[[1, 2], [3, 4]]]},
            "two values in one place",
        ),
    ],
)
def test_columns_that_do_not_fit_together_are_refused(
    changed: dict[str, object], fault: str | None
) -> None:
    document = msgspec.json.encode({"runs": COLUMNS | changed})
    if fault is None:
        assert in_rows(document, 1_000) == b'{"runs":[{"a":1},{"a":2}]}'
        return
    with pytest.raises(ValueError, match=fault):
        in_rows(document, 1_000)


def test_rows_that_repeat_a_long_name_end_before_they_take_all_memory() -> None:
    many = COLUMNS | {
        "kinds": [[["a" * 1_000_000]]],
        "kind_of": [0] * 100_000,
        "columns": [[[0] * 100_000]],
    }
    with pytest.raises(OverflowError):
        in_rows(msgspec.json.encode({"runs": many}), 10_000_000)


@pytest.mark.parametrize("before", [PAGE, b"\xef\xbb\xbf<html>", b"\n\n  <!DOCTYPE HTML>"])
def test_a_page_is_loaded_like_its_result_file(tmp_path: Path, before: bytes) -> None:
    path = page(tmp_path, element_of("</script>&", store.encoded(RESULT)), before=before)
    assert store.load(path) == RESULT
    assert [each.name for each in store.load_all(path)] == ["</script>&"]


def test_a_page_of_several_results_is_not_taken_for_one(tmp_path: Path) -> None:
    element = element_of("a", store.encoded(RESULT))
    path = page(tmp_path, element, element.replace('"a"', '"b"'))
    assert [each.name for each in store.load_all(path)] == ["a", "b"]
    with pytest.raises(UsageError, match=r"holds 2 results \(a, b\), and one is needed"):
        store.load(path)


def test_a_measurement_does_not_go_on_in_a_page(tmp_path: Path) -> None:
    """It would save its result there, and the page would be gone."""
    path = page(tmp_path, element_of("a", store.encoded(RESULT)))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="cannot be resumed: it is a page"):
        store.Destination.resumed(path, lambda result: result)
    assert path.read_bytes() == before


def cut(element: str) -> str:
    packed = element[element.index(">") + 1 : element.index("</script>")]
    return element.replace(packed, packed[: len(packed) // 8 * 4])


@pytest.mark.parametrize(
    ("element", "fault"),
    [
        ("", "a page that holds no complete result"),
        (cut(element_of("a", store.encoded(RESULT))), "is damaged: its end is missing"),
        (element_of("a", b"{}").replace("/Td6", "????"), "is damaged"),
        (element_of("a", b"{}"), r"\(a\) is not a result file of tinygram"),
        (element_of("a", b'{"schema_version": 99}'), r"\(a\) has schema_version 99, and this"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, element: str, fault: str) -> None:
    with pytest.raises(UsageError, match=f"page.html.*{fault}"):
        store.load(page(tmp_path, element))


def test_all_results_of_a_page_together_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = msgspec.json.encode(RESULT)
    path = page(tmp_path, element_of("a", document), element_of("b", document))
    needed = len(document) + max(len(document), len(in_columns(document)))
    monkeypatch.setattr(pages, "MOST_BYTES", needed)
    assert len(store.load_all(path)) == 2
    monkeypatch.setattr(pages, "MOST_BYTES", needed - 1)
    with pytest.raises(UsageError, match=r"unpack to more than .* name the result files"):
        store.load_all(path)
    found = results_in(path.read_bytes())
    assert next(found)[0] == "a"
    with pytest.raises(pages.TooLargeError):
        next(found)


def test_rows_are_limited_together_with_the_rest_of_their_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is within the limit. Without one, whatever comes next would be unpacked whole."""
    monkeypatch.setattr(pages, "MOST_BYTES", 100_000)
    first = {"plan": "p" * 60_000, "runs": [{"a" * 100: 0}] * 500}
    elements = [element_of("a", msgspec.json.encode(first)), element_of("b", b"{}")]
    with pytest.raises(pages.TooLargeError):
        next(results_in(PAGE + "".join(elements).encode()))


def values_of(document: bytes) -> int:
    return sum(document.count(each) for each in (b"[", b"{", b","))


def test_all_values_of_a_page_together_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = msgspec.json.encode(RESULT)
    path = page(tmp_path, element_of("a", document), element_of("b", document))
    in_rows, columns = values_of(document), values_of(in_columns(document))
    monkeypatch.setattr(pages, "MOST_VALUES", in_rows + max(in_rows, columns))
    assert len(store.load_all(path)) == 2
    monkeypatch.setattr(pages, "MOST_VALUES", in_rows + max(in_rows, columns) - 1)
    with pytest.raises(UsageError, match=r"or to more than [\d,]+ values; name the result files"):
        store.load_all(path)


def test_millions_of_values_in_few_bytes_are_refused_before_they_are_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "in_rows", lambda *_: pytest.fail("they were decoded"))
    columns = b'{"kinds":[],"kind_of":[],"columns":[[[' + b"[]," * 8_000_000 + b"[]]]]}"
    element = element_of_columns(b'{"runs":' + columns + b"}")
    assert len(element) < 50_000
    with pytest.raises(pages.TooLargeError):
        next(results_in(PAGE + element.encode()))


LONG_PATH: dict[str, Any] = {"kinds": [[["a"] * 50_000]], "kind_of": [0], "columns": [[[1]]]}


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        (b'{"runs":' + b"[" * 100_000, r"\(a\) is not a result file of tinygram"),
        (msgspec.json.encode({"runs": LONG_PATH}), "the result in it is damaged"),
    ],
    ids=["lists", "objects of a row"],
)
def test_what_is_too_deep_is_refused(tmp_path: Path, columns: bytes, fault: str) -> None:
    with pytest.raises(UsageError, match=f"page.html.*{fault}: maximum recursion depth"):
        store.load(page(tmp_path, element_of_columns(columns)))


@given(position=st.integers(0, 10**6), byte=st.integers(0, 255), is_packed=st.booleans())
def test_a_damaged_page_reads_as_results_or_is_a_usage_error(
    tmp_path_factory: pytest.TempPathFactory, position: int, byte: int, is_packed: bool
) -> None:
    """A byte of it, or of the columns in it, is another one."""
    document = in_columns(store.encoded(RESULT))
    damaged = bytearray(PAGE + element_of_columns(document).encode() if is_packed else document)
    damaged[position % len(damaged)] = byte
    content = bytes(damaged) if is_packed else PAGE + element_of_columns(bytes(damaged)).encode()
    path = tmp_path_factory.getbasetemp() / "damaged.html"
    path.write_bytes(content)
    with contextlib.suppress(UsageError):
        assert all(isinstance(each.result, Result) for each in store.load_all(path))


def test_the_memory_that_unpacking_takes_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = page(tmp_path, element_of("a", store.encoded(RESULT)))
    monkeypatch.setattr(pages, "_MOST_WORKING_BYTES", 8 << 20)
    with pytest.raises(UsageError, match="would take more than 8 MiB of memory; name the result"):
        store.load(path)
