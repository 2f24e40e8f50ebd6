"""Laws of the layout that import-linter cannot express; each must find a planted breach."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
NOT_OURS = {"target", "dist", "results", "__pycache__", "corpus", "artifacts"}
CODE = {".c", ".h", ".py", ".pyi", ".rs", ".sh"}
PYO3 = ("python", "python-bench")
MAX_LINES = 400
MAX_FILES = 12  # In one folder, those in folders below it left out.
CROWDED = {"docs/decisions", "docs/how-to"}  # A page each: a list is what they are.
MAX_STUB_LINES = 500  # A stub is one module's list, and has no logic to get lost in.

MAKES_OBJECTS = {
    *("pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve"),
    *("eval", "exec", "compile", "__import__"),
}

# Put together here, for this file obeys the rule too.
HOSTS = [("pypi", "org"), ("python" + "hosted", "org"), ("crates", "io"), ("npmjs", "org")]
REGISTRY_HOSTS = [".".join(host) for host in HOSTS]
MACHINE_PATHS = [f"/{folder}/" for folder in ("home", "opt", "root", "work")]
CARGO_SOURCE = f'source = "registry+https://github.com/rust-lang/{REGISTRY_HOSTS[2]}-index"'


def files(root: Path) -> Iterator[Path]:
    """All files of ours: nothing that was built, and nothing hidden but CI's own."""
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        # What is taken out here is not entered: most files of a checkout have been built.
        folders[:] = filter(is_ours, folders)
        found += (Path(folder, name) for name in names if is_ours(name))
    yield from sorted(path for path in found if path.is_file())


def is_ours(name: str) -> bool:
    """Whether a folder or a file of that name may be one of ours."""
    return name not in NOT_OURS and (name == ".ci" or not name.startswith("."))


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Each line with its place, for a file of text."""
    if path.suffix == ".so":
        return
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        yield f"{path}:{number}", line


def matches(paths: Iterator[Path], pattern: str) -> list[str]:
    search = re.compile(pattern).search
    return [place for path in paths for place, line in lines_of(path) if search(line)]


def unsafe_outside_the_edges(root: Path) -> list[str]:
    edges = [root / "crates" / name for name in ("link", "load", "net", *PYO3)]
    rust = (
        path
        for path in files(root)
        if path.suffix == ".rs" and not any(path.is_relative_to(edge) for edge in edges)
    )
    return matches(rust, r"\bunsafe\b")


def pyo3_outside_its_crates(root: Path) -> list[str]:
    return [
        str(manifest)
        for manifest in sorted(root.glob("crates/*/Cargo.toml"))
        if manifest.parent.name not in PYO3 and "pyo3" in dependencies_of(manifest)
    ]


def io_in_core(root: Path) -> list[str]:
    """The library's rules, and what of the bench is bytes and times in, and values out."""
    crates = root / "crates"
    pure = [crates / "core", *(crates / "load" / "src" / name for name in ("messages", "schedule"))]
    pure.append(crates / "link" / "src" / "model")
    sources = (path for folder in pure for path in files(folder) if path.suffix == ".rs")
    modules = "env|fs|io|net|os|process|thread"
    pattern = rf"\b(libc|Instant|SystemTime)\b|\bstd::({modules})\b|\bstd::\{{.*\b({modules})\b"
    breaches = matches(sources, pattern)
    manifest = crates / "core" / "Cargo.toml"
    io_crates = {"libc", "rustix", "socket2", "tinygram-net"} & dependencies_of(manifest)
    return breaches + [f"{manifest}: {crate}" for crate in sorted(io_crates)]


def bench_in_the_library(root: Path) -> list[str]:
    manifests = [root / "crates" / name / "Cargo.toml" for name in ("core", "net", "python")]
    bench = {"tinygram-link", "tinygram-load", "cc"}
    return [
        f"{manifest}: {crate}"
        for manifest in manifests
        for crate in sorted(bench & dependencies_of(manifest))
    ]


def most_lines(path: Path) -> int:
    return MAX_STUB_LINES if path.suffix == ".pyi" else MAX_LINES


def dataclasses_in_the_bench(root: Path) -> list[str]:
    """Python takes a millisecond to make one, in each process of the bench: values are Structs."""
    python = (path for path in files(root / "python/tinygram_bench") if path.suffix == ".py")
    return matches(python, r"^\s*@(dataclasses\.)?dataclass\b")


def code_from_bytes(root: Path) -> list[str]:
    """What would make objects, or run code, of what another host or a file says.

    multiprocessing pickles: one way by hand hands bytes over by it, to a child of its own.
    """
    with_a_child = root / "python/tinygram_bench/ways/by_hand/processes.py"
    return [
        f"{path}:{line}"
        for path in files(root / "python")
        if path.suffix == ".py"
        for line, name in imported_or_called(path.read_text())
        if name in MAKES_OBJECTS or (name == "multiprocessing" and path != with_a_child)
    ]


def imported_or_called(source: str) -> Iterator[tuple[int, str]]:
    """The packages that it imports and the functions that it calls by a bare name; their lines."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, each.name.partition(".")[0]) for each in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module.partition(".")[0]
            case ast.Call(func=ast.Name(id=name)):
                yield node.lineno, name


def let_chains(root: Path) -> list[str]:
    """Rust 1.85, which we promise to build on, has none; newer compilers do not tell."""
    chain = re.compile(r"\b(if|while)\s+let\b[^{};]*&&|&&\s*let\b")
    rust = (path for path in files(root) if path.suffix == ".rs")
    return [str(path) for path in rust if chain.search(without_brackets(path.read_text()))]


def without_brackets(code: str) -> str:
    """What is in no round brackets, where `&&` joins no conditions of an `if`."""
    shorter = re.sub(r"\([^()]*\)", "", code)
    return code if shorter == code else without_brackets(shorter)


Module = tuple[str, ...]


def rust_cycles(root: Path) -> list[str]:
    """Modules beside each other, at any level, that import each other, directly or through others.

    Each stands for all that is below it.
    """
    return [
        f"{crate.name}: {'::'.join((*parent, module))}"
        for crate in sorted(root.glob("crates/*"))
        for uses in [modules_used_by_each(crate / "src")]
        for parent in sorted({module[:-1] for module in uses if module})
        for imports in [imports_beside_each_other(parent, uses)]
        for module in sorted(imports)
        if module in reached_from(module, imports)
    ]


def modules_used_by_each(source: Path) -> dict[Module, set[Module]]:
    """Each file's module → the paths, from the top of the crate, of what its code names."""
    uses: dict[Module, set[Module]] = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        module = parts[:-1] if parts[-1] in ("lib", "mod") else parts
        code = without_groups(re.sub(r"//.*", "", path.read_text()))
        for name in re.findall(r"\b(?:crate|super)(?:::\w+)+", code):
            *up, rest = re.split(r"(?<=super)::(?!super)", name, maxsplit=1)
            above = module[: len(module) - up[0].count("super")] if up else ()
            used = (*above, *rest.removeprefix("crate::").split("::"))
            uses.setdefault(module, set()).add(used)
        uses.setdefault(module, set())
    return uses


def without_groups(code: str) -> str:
    """`a::{b, c::{d, e}}` as `a::b, a::c::d, a::c::e`."""

    def spread(group: re.Match[str]) -> str:
        return ", ".join(f"{group[1]}::{name.strip()}" for name in group[2].split(","))

    longer = re.sub(r"\b([\w:]+)::\{([^{}]*)\}", spread, code)
    return code if longer == code else without_groups(longer)


def imports_beside_each_other(
    parent: Module, uses: dict[Module, set[Module]]
) -> dict[str, set[str]]:
    depth = len(parent)
    below = {module for module in uses if len(module) > depth and module[:depth] == parent}
    imports: dict[str, set[str]] = {module[depth]: set() for module in below}
    for module in below:
        beside = {used[depth] for used in uses[module] if used[:depth] == parent != used}
        imports[module[depth]] |= beside & imports.keys() - {module[depth]}
    return imports


def python_cycles(imports: dict[str, set[str]]) -> list[str]:
    """Modules of a package that import each other, directly or by way of others.

    `imports`: as by `imports_within`.
    """
    return sorted(module for module in imports if module in reached_from(module, imports))


def imports_within(package: str) -> dict[str, set[str]]:
    """Module → modules that it imports when it runs, and not for type checkers alone.

    The native one is no file of Python, and grimp takes it for the package.
    """
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    native = f"from {package} import _native"

    def is_of_python(importer: str, imported: str) -> bool:
        details = graph.get_import_details(importer=importer, imported=imported)
        return any(detail["line_contents"] != native for detail in details)

    return {
        module: {
            imported
            for imported in graph.find_modules_directly_imported_by(module)
            if is_of_python(module, imported)
        }
        for module in graph.modules
    }


def reached_from(module: str, imports: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    to_follow = set(imports[module])
    while to_follow:
        one = to_follow.pop()
        reached.add(one)
        to_follow |= imports[one] - reached
    return reached


def long_files(root: Path) -> list[str]:
    return [
        str(path)
        for path in files(root)
        if path.suffix in CODE and sum(1 for _ in lines_of(path)) > most_lines(path)
    ]


def folders_with_many_files(root: Path) -> list[str]:
    count = Counter(path.parent.relative_to(root) for path in files(root) if path.suffix != ".so")
    return sorted(str(folder) for folder in count if count[folder] > MAX_FILES)


def crowded_folders(root: Path) -> list[str]:
    return [folder for folder in folders_with_many_files(root) if folder not in CROWDED]


def names_of_hosts_and_machines(root: Path) -> list[str]:
    hosts, folders = ("|".join(map(re.escape, names)) for names in (REGISTRY_HOSTS, MACHINE_PATHS))
    # No letter before a path: a relative one may well have a folder of that name.
    pattern = rf"{hosts}|(?<![\w*.])({folders})"
    return [
        place
        for path in files(root)
        for place, line in lines_of(path)
        if re.search(pattern, line) and line != CARGO_SOURCE
    ]


def dependencies_of(manifest: Path) -> set[str]:
    if not manifest.exists():
        return set()
    tables = tomllib.loads(manifest.read_text())
    kinds = ("dependencies", "build-dependencies")
    return {name for kind in kinds for name in tables.get(kind, {})}


Law = Callable[[Path], list[str]]
LAWS: list[tuple[Law, str, str]] = [
    (unsafe_outside_the_edges, "crates/core/src/a.rs", "unsafe { read() }"),
    (pyo3_outside_its_crates, "crates/net/Cargo.toml", "[dependencies]\npyo3.workspace = true"),
    (io_in_core, "crates/core/src/a.rs", "use std::thread;"),
    (io_in_core, "crates/core/src/a.rs", "use std::{net, rc};"),
    (io_in_core, "crates/core/src/a.rs", "let now = Instant::now();"),
    (io_in_core, "crates/core/Cargo.toml", "[dependencies]\nlibc.workspace = true"),
    (io_in_core, "crates/load/src/messages/a.rs", "use std::fs;"),
    (io_in_core, "crates/link/src/model/a.rs", "let now = Instant::now();"),
    (bench_in_the_library, "crates/net/Cargo.toml", "[build-dependencies]\ncc.workspace = true"),
    (dataclasses_in_the_bench, "python/tinygram_bench/a.py", "@dataclass(frozen=True)"),
    (code_from_bytes, "python/tinygram_bench/far/a.py", "import json, pickle"),
    (code_from_bytes, "python/tinygram_bench/hosts/a.py", "from marshal import loads"),
    (code_from_bytes, "python/tinygram/a.py", "def a():\n    import multiprocessing.connection"),
    (code_from_bytes, "python/tinygram_bench/cluster/a.py", "eval(said)"),
    (let_chains, "crates/net/src/a.rs", "if let Some(a) = b\n    && a > 0\n{"),
    (let_chains, "crates/net/src/a.rs", "while a && let Some(b) = c {"),
    (let_chains, "crates/net/src/a.rs", "if let Some(a) = b(c && d) && e() {"),
    (long_files, "python/tinygram/a.py", "\n" * (MAX_LINES + 1)),
    (names_of_hosts_and_machines, "docs/a.md", "see https://index." + REGISTRY_HOSTS[0]),
    (names_of_hosts_and_machines, ".ci/run", "cd " + MACHINE_PATHS[0] + "here"),
]


@pytest.mark.parametrize("law", [*dict.fromkeys(law for law, _, _ in LAWS), crowded_folders])
def test_the_law_holds(law: Law) -> None:
    assert law(ROOT) == []


def test_no_folder_is_excused_for_nothing() -> None:
    assert set(folders_with_many_files(ROOT)) >= CROWDED


def test_a_crowded_folder_is_found(tmp_path: Path) -> None:
    for number in range(MAX_FILES):
        (tmp_path / f"{number}.py").touch()
        (tmp_path / "b").mkdir(exist_ok=True)
        (tmp_path / "b" / f"{number}.py").touch()
    assert crowded_folders(tmp_path) == []
    (tmp_path / "b" / "more.py").touch()
    assert crowded_folders(tmp_path) == ["b"]


@pytest.mark.parametrize(("law", "path", "breach"), LAWS)
def test_a_breach_is_found(tmp_path: Path, law: Law, path: str, breach: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("\n")
    assert law(tmp_path) == []
    (tmp_path / path).write_text(breach)
    assert len(law(tmp_path)) == 1


def test_no_modules_of_a_crate_import_each_other_in_a_circle() -> None:
    assert rust_cycles(ROOT) == []


def test_such_a_circle_is_found(tmp_path: Path) -> None:
    source = tmp_path / "crates" / "net" / "src"
    (source / "b").mkdir(parents=True)
    (source / "a.rs").write_text("use crate::{\n    c::{C, b},\n    d,\n};")
    (source / "b.rs").write_text("mod inner;")
    (source / "b" / "inner.rs").write_text("use crate::a::A;")
    (source / "c.rs").write_text("use crate::d::D;")
    (source / "d.rs").write_text("")
    assert rust_cycles(tmp_path) == []
    (source / "d.rs").write_text("fn d() -> crate::b::B {}")
    assert rust_cycles(tmp_path) == ["net: a", "net: b", "net: c", "net: d"]


def test_a_circle_below_the_top_is_found(tmp_path: Path) -> None:
    room = tmp_path / "crates" / "net" / "src" / "room"
    (room / "b").mkdir(parents=True)
    (room / "mod.rs").write_text("mod a;\nmod b;\nmod c;\nuse a::A;")
    (room / "a.rs").write_text("use super::{\n    Room,\n    b::{self, B, inner::{Inner}},\n};")
    (room / "b" / "mod.rs").write_text("mod inner;\nuse crate::clock::now;")
    (room / "b" / "inner.rs").write_text("use super::super::c::C;")
    (room / "c.rs").write_text("// crate::room::a::A\nuse super::Room;")
    assert rust_cycles(tmp_path) == []
    (room / "c.rs").write_text("use crate::room::a::A;")
    assert rust_cycles(tmp_path) == ["net: room::a", "net: room::b", "net: room::c"]


@pytest.mark.parametrize("package", ["tinygram", "tinygram_bench"])
def test_no_modules_of_python_import_each_other_in_a_circle(package: str) -> None:
    imports = imports_within(package)
    assert len(imports) > 10
    assert python_cycles(imports) == []


def test_such_a_circle_in_python_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "circular"
    package.mkdir()
    (package / "__init__.py").write_text("from circular.a import A\n")
    (package / "a.py").write_text("from circular import _native\nfrom circular import b\n")
    (package / "b.py").write_text("from circular.c import C\n")
    (package / "c.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert python_cycles(imports_within("circular")) == []
    (package / "c.py").write_text("def late():\n    from circular.a import A\n")
    assert python_cycles(imports_within("circular")) == ["circular.a", "circular.b", "circular.c"]
