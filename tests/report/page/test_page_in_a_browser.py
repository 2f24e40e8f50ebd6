"""The page in a real browser, on a phone and on a desk: nothing asked for, nothing complained of,
every chart drawn, tooltips and legends at work.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.support.browser import CHROMIUM, Browser, browsing
from tests.support.experiments import paced_run, plan_of, result_of, swept, way

from tinygram_bench.model import store
from tinygram_bench.model.result import Named, Result
from tinygram_bench.report import page as page_module
from tinygram_bench.report.charts import charts_of
from tinygram_bench.report.page import page_of

if CHROMIUM is None:
    pytest.skip("chromium is missing: apt-get install chromium", allow_module_level=True)

STORED = Path(__file__).parents[2] / "model" / "stored"
WAYS = ("loop/nodelay", "loop/nagle", "loop/<b>x")
DRAWN = "document.documentElement.dataset.drawn !== undefined"


def paced() -> Result:
    cases = [way(text, rate) for rate in (1_000, 10_000) for text in WAYS]
    runs = [
        paced_run(case, number, 10 * (at + 1), 2_000)
        for at, case in enumerate(cases)
        for number in range(6)
    ]
    return result_of(plan_of(cases, runs), runs)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of every workload's charts; the paced result's stand first."""
    stored = [Named(path.stem, store.load(path)) for path in sorted(STORED.glob("*.json"))]
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_of([Named("paced", paced()), *stored], "1.2.3").html)
    return path


def colours(browser: Browser, figure: str) -> list[str]:
    """The colours of the lines in a chart."""
    found = browser.evaluate(
        f"[...document.querySelectorAll('#{figure} .mark-line path')]"
        ".filter((each) => each.getAttribute('d')).map((each) => each.getAttribute('stroke'))"
    )
    assert isinstance(found, list)
    return found


def click(browser: Browser, figure: str, label: str) -> None:
    browser.evaluate(
        f"[...document.querySelectorAll('#{figure} .legend button')]"
        f".find((each) => each.textContent.trim() === {json.dumps(label)}).click()"
    )


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1_400, "light")])
def test_all_is_drawn_and_works(browser: Browser, page: Path, width: int, scheme: str) -> None:
    browser.open(page, width, 900, scheme)
    browser.wait_for(DRAWN)
    assert browser.evaluate(
        "[...document.querySelectorAll('.plot')].every((each) => each.querySelector('svg "
        ".mark-line path, svg .mark-rect path, svg .mark-symbol path'))"
    )
    assert browser.evaluate("document.querySelectorAll('figure').length") > 10
    # Nothing is wider than the window, so that a phone need not scroll sideways.
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.evaluate(
        "[...document.querySelectorAll('.plot svg')]"
        ".every((each) => each.getBoundingClientRect().right <= innerWidth)"
    )
    back = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (scheme == "light")

    figure = "r0-latency-against-rate-median"
    before = colours(browser, figure)
    assert len(before) == len(WAYS)
    click(browser, figure, "loop/<b>x")
    browser.wait_for(f"document.querySelectorAll('#{figure} .mark-line path[d]').length === 2")
    assert set(colours(browser, figure)) < set(before)
    pressed = browser.evaluate(
        f"[...document.querySelectorAll('#{figure} [aria-pressed]')]"
        ".map((each) => each.getAttribute('aria-pressed'))"
    )
    assert pressed == ["true", "true", "false"]
    click(browser, figure, "loop/<b>x")
    browser.wait_for(f"document.querySelectorAll('#{figure} .mark-line path[d]').length === 3")
    assert colours(browser, figure) == before

    browser.evaluate(f"document.getElementById('{figure}').scrollIntoView({{block: 'center'}})")
    at = browser.evaluate(
        f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])(document.querySelector("
        f"'#{figure} .mark-symbol path').getBoundingClientRect())"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    browser.wait_for("document.querySelector('#vg-tooltip-element.visible') !== null")
    told = browser.evaluate("document.querySelector('#vg-tooltip-element').innerText")
    assert "messages per second" in told
    assert any(text in told for text in WAYS)

    assert browser.requests() == [page.as_uri()]
    assert browser.complaints() == []


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1_400, "dark")])
def test_axe_finds_nothing_serious(browser: Browser, page: Path, width: int, scheme: str) -> None:
    """Names, contrast, order and keys: nothing that axe-core calls serious or critical.

    What is folded is examined, too.
    """
    browser.open(page, width, 900, scheme)
    browser.wait_for(DRAWN)
    _unfold_all(browser)
    assert browser.evaluate("document.querySelectorAll('details[open]').length") > 3
    assert _serious(browser) == {}


def _unfold_all(browser: Browser) -> None:
    browser.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")


def _serious(browser: Browser) -> dict[str, list[str]]:
    """What axe-core calls serious or critical: rule → the elements."""
    browser.evaluate((files("axe_core_python") / "axe.min.js").read_text())
    found = browser.evaluate("axe.run()")
    assert len(found["passes"]) > 10
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    return {each["id"]: [node["html"] for node in each["nodes"]] for each in serious}


def test_a_download_has_what_the_chart_draws(browser: Browser, tmp_path: Path) -> None:
    hostile = 'loop/a,"b"\n<i>'
    cases = [way(hostile, 1_000), way("loop/nagle", 1_000)]
    runs = [paced_run(case, number, 10.5, 2_000) for case in cases for number in range(6)]
    result = result_of(plan_of(cases, runs), runs)
    path = tmp_path / "page.html"
    path.write_text(page_of([Named("paced", result)], "1.2.3").html)
    browser.open(path, 1_400, 900)
    browser.wait_for(DRAWN)
    browser.evaluate(
        "HTMLAnchorElement.prototype.click = "
        "function () { window.saved = [this.download, this.href] }"
    )
    for chart in charts_of(result):
        browser.evaluate(f"document.querySelector('#r0-{chart.name} [data-csv]').click()")
        name, address = browser.evaluate("window.saved")
        assert name == f"{chart.name}.csv"
        head, _, text = address.partition(",")
        assert head == "data:text/csv;charset=utf-8"
        header, *lines = csv.reader(io.StringIO(unquote(text), newline=""))
        assert header == list(chart.columns.values())
        assert [[_value(cell) for cell in line] for line in lines] == [
            [row[name] for name in chart.columns] for row in chart.rows
        ]
    assert browser.complaints() == []


def _value(cell: str) -> str | float | None:
    try:
        return float(cell)
    except ValueError:
        return cell or None


def test_what_is_packed_is_put_in_its_place_when_it_is_unfolded(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, path = paced(), tmp_path / "page.html"
    text = page_of([Named("paced", result)], "1.2.3").html
    while 'id="folded"' not in text:
        monkeypatch.setattr(page_module, "LARGE_BYTES", len(text.encode()) - 1)
        text = page_of([Named("paced", result)], "1.2.3").html
    path.write_text(text)
    browser.open(path, 1_400, 900)
    browser.wait_for(DRAWN)
    figure = "r0-latency-against-rate-median"
    rows = f"document.querySelectorAll('#{figure} tbody tr').length"
    assert browser.evaluate(rows) == 0
    browser.evaluate(f"document.querySelector('#{figure} details').open = true")
    chart = next(each for each in charts_of(result) if f"r0-{each.name}" == figure)
    browser.wait_for(f"{rows} === {len(chart.rows)}")
    _unfold_all(browser)
    browser.wait_for("document.querySelectorAll('[data-packed]').length === 0")
    assert _serious(browser) == {}
    assert browser.complaints() == []


def test_a_name_that_the_mouse_points_at_is_drawn_alone(browser: Browser, page: Path) -> None:
    browser.open(page, 1_400, 900)
    browser.wait_for(DRAWN)
    figure = "r0-latency-against-rate-median"
    before = colours(browser, figure)
    at = browser.evaluate(
        f"(() => {{ const button = document.querySelector('#{figure} [data-series]');"
        "button.scrollIntoView({block: 'center'}); const box = button.getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2] })()"
    )
    lines = f"document.querySelectorAll('#{figure} .mark-line path[d]').length"
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    browser.wait_for(f"{lines} === 1")
    assert colours(browser, figure) == before[:1]
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    browser.wait_for(f"{lines} === {len(before)}")


def test_a_chart_of_dozens_of_ways_stays_beside_its_legend(
    browser: Browser, tmp_path: Path
) -> None:
    cases = [way(f"loop/coalesce:{at}us", rate) for rate in (1e3, 1e4) for at in range(1, 51)]
    runs = [paced_run(case, number, 10 + number, 2_000) for case in cases for number in range(2)]
    path = tmp_path / "page.html"
    path.write_text(page_of([Named("ways", result_of(plan_of(cases, runs), runs))], "1").html)
    browser.open(path, 390, 844)
    browser.wait_for(DRAWN)
    figure = "document.querySelector('#r0-latency-against-rate-median')"
    assert browser.evaluate(f"{figure}.querySelectorAll('[data-series]').length") == 50
    assert browser.evaluate(
        f"{figure}.querySelector('.plot').getBoundingClientRect().bottom"
        f" - {figure}.querySelector('.legend').getBoundingClientRect().top < innerHeight"
    )


def test_the_names_of_rows_stay_when_a_wide_table_is_scrolled(browser: Browser, page: Path) -> None:
    browser.open(page, 390, 900)
    browser.wait_for(DRAWN)
    _unfold_all(browser)
    table = "document.querySelector('#r0-tables .scroll')"
    assert browser.evaluate(f"{table}.scrollWidth > {table}.clientWidth")
    browser.evaluate(f"{table}.scrollLeft = 9999")
    assert browser.evaluate(
        f"{table}.querySelector('tbody th').getBoundingClientRect().left"
        f" - {table}.getBoundingClientRect().left < 2"
    )


def test_charts_of_single_points_are_drawn_when_they_are_unfolded(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "sweep.html"
    path.write_text(page_of([Named("swept", swept(WAYS[:2], (1e3, 1e4), 6))], "1.2.3").html)
    browser.open(path, 1_400, 900)
    browser.wait_for(DRAWN)
    folded = "document.querySelectorAll('details.charts-folded .plot').length"
    drawn = "document.querySelectorAll('details.charts-folded .plot svg').length"
    assert browser.evaluate(drawn) == 0
    assert browser.evaluate(folded) > 0
    browser.evaluate("document.querySelector('details.charts-folded').open = true")
    browser.wait_for(f"{drawn} === {folded}")
    assert browser.complaints() == []


def test_colours_follow_the_reader_and_keys_reach_the_legend(browser: Browser, page: Path) -> None:
    browser.open(page, 1_400, 900, "light")
    browser.wait_for(DRAWN)
    text = "document.querySelector('#r0-latency-median-1 .mark-text text').getAttribute('fill')"
    light = browser.evaluate(text)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", features=features)
    browser.wait_for(f"({text}) !== {json.dumps(light)}")

    figure = "r0-latency-against-rate-median"
    browser.evaluate(f"document.querySelector('#{figure} .legend button').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=" ", code="Space", text=" ")
    browser.wait_for(f"document.querySelector('#{figure} .legend button').ariaPressed === 'false'")
    assert browser.complaints() == []


def test_a_page_that_asks_and_complains_is_found(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(
        "<img src='http://127.0.0.1:1/a.png'><script>console.warn('b'); undefined.c;</script>"
    )
    browser.open(path, 390, 900)
    browser.wait_for("document.readyState === 'complete'")
    assert browser.requests() == [path.as_uri(), "http://127.0.0.1:1/a.png"]
    complaints = json.dumps(browser.complaints())
    assert "TypeError" in complaints
    assert '"value": "b"' in complaints
