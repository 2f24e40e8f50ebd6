"""What is written keeps up with the code: links lead somewhere, commands and snippets are right."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from website.__main__ import GENERATED, site_source
from website.links import linked_within

import tinygram
from tinygram_bench.cli.app import app
from tinygram_bench.model.errors import UsageError

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted(DOCS.rglob("*.md"))]
MAX_README_WORDS = 900
COMMANDS = typer.main.get_command(app)


def in_repository(page: Path) -> str:
    return str(page.relative_to(ROOT))


def broken_links(page: Path) -> Iterator[str]:
    for target, anchor in re.findall(r"\]\(([^)\s#]*)(#[^)]*)?\)", page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        place = (page.parent / target).resolve() if target else page
        is_generated = place.is_relative_to(DOCS) and str(place.relative_to(DOCS)) in GENERATED
        if not place.exists() and not is_generated:
            yield f"{target} is not there"
        elif anchor and anchor[1:] not in anchors(place):
            yield f"{target}{anchor} names no heading"


def anchors(page: Path) -> set[str]:
    """Those that every renderer makes alike: of headings without a dash between spaces."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=in_repository)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert list(broken_links(page)) == []


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading\n[a](nothing.md) [b](#a-heading) [c](#another)")
    assert list(broken_links(page)) == ["nothing.md is not there", "#another names no heading"]


def shown_commands(text: str) -> Iterator[str]:
    """The command lines of tinygram in indented blocks, in fences and in tables."""
    joined = re.sub(r"\\\n\s*", "", text)
    yield from re.findall(r"^(?:    |\$ )(tinygram .*)$", joined, re.MULTILINE)
    yield from re.findall(r"^\|.*?`(tinygram [^`]*)`", text, re.MULTILINE)


def complaint(line: str) -> str | None:
    """What the command line says of these words; nothing is run."""
    words = shlex.split(line, comments=True)[1:]
    command: Any = COMMANDS
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    try:
        command.make_context("tinygram", words)
    except typer.Exit:  # --help, --version
        return None
    except (typer.TyperException, UsageError) as error:
        return f"{line}: {error}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=in_repository)
def test_every_command_is_one_that_tinygram_takes(page: Path) -> None:
    lines = [line for line in shown_commands(page.read_text()) if "…" not in line]
    assert [said for line in lines if (said := complaint(line))] == []


def test_a_wrong_command_is_found() -> None:
    text = "    tinygram stream --rat 5  # a comment\n| `tinygram stream --rate 5` | an answer |\n"
    first, second = shown_commands(text)
    assert "--rat" in (complaint(first) or "")
    assert complaint(second) is None


def test_every_command_of_the_example_for_ci_is_one_that_tinygram_takes() -> None:
    """A command is a line of a script, or the whole of one; the shell's `||` is no word of it."""
    text = (ROOT / "examples" / "ci" / "performance.yml").read_text()
    lines = re.findall(r"^ +(?:run: )?(tinygram .*?)(?: \|\| .*)?$", text, re.MULTILINE)
    assert [line.split()[1] for line in lines] == ["stream", "rerun", "compare", "compare"]
    assert [said for line in lines if (said := complaint(line))] == []


@pytest.mark.parametrize("page", PAGES, ids=in_repository)
def test_python_is_python_and_knows_the_library(page: Path) -> None:
    for snippet in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        tree = compile(
            snippet, in_repository(page), "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        )
        named = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "tinygram"
        }
        assert [name for name in named if not hasattr(tinygram, name)] == []


def test_the_readme_is_a_landing_page() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= MAX_README_WORDS


def test_every_page_of_the_site_can_be_found(tmp_path: Path) -> None:
    site_source(tmp_path)
    config = tomllib.loads((tmp_path / "zensical.toml").read_text())["project"]
    listed = list(pages_of(config["nav"]))
    assert [page for page in listed if not (tmp_path / "docs" / page).is_file()] == []
    folders = {page.parent.name for page in map(Path, listed)} - {"published"}
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} | set(GENERATED)
    assert {page for page in there if Path(page).parent.name in folders} == {
        page for page in listed if not page.startswith("published/")
    }


def pages_of(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else pages_of(below)


def test_links_of_a_page_of_the_site(tmp_path: Path) -> None:
    (tmp_path / "how-to").mkdir()
    for name in ("claim.md", "how-to/install.md"):
        (tmp_path / name).touch()

    def linked(link: str) -> str:
        return linked_within(f"[words]({link})", Path("how-to/page.md"), tmp_path)

    assert linked("install.md#rights") == "[words](install.md#rights)"
    assert linked("../claim.md") == "[words](../claim.md)"
    assert linked("../../Makefile") == "words (`Makefile`)"
    assert linked("https://example.org/a.md") == "[words](https://example.org/a.md)"
    with pytest.raises(FileNotFoundError, match=r"how-to/page.md links to gone.md"):
        linked("gone.md")
