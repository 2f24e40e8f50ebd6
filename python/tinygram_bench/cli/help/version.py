"""`tinygram --version`: the versions, and what the kernel and the installation offer."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Iterator

import tinygram
from tinygram_bench.cli.help.features import io_uring_refusal, tun_refusal
from tinygram_bench.links import sandbox
from tinygram_bench.tls.kernel import kernel_tls_refusal

_PACKAGES = ("tinygram", "tinygram-bench")


def version_lines() -> Iterator[str]:
    """The output of `--version`, a line for each fact; the first line has only the version."""
    yield f"tinygram {tinygram.__version__}"
    yield f"python      {platform.python_implementation()} {platform.python_version()}"
    yield f"kernel      {platform.system()} {platform.release()} {platform.machine()}"
    loops = ["asyncio"]
    if (uvloop := _installed("uvloop")) is not None:
        loops.append(f"uvloop {uvloop}")
    yield f"loops       {', '.join(loops)}"
    yield f"io_uring    {_permitted(io_uring_refusal())}"
    namespaces = sandbox.probe()
    yield f"namespaces  {_permitted(None if namespaces.is_given else namespaces.why)}"
    yield f"tun         {_permitted(tun_refusal())}"
    yield f"kernel-tls  {_permitted(kernel_tls_refusal())}"
    extras = [name for name, needed in _extras().items() if all(map(_installed, needed))]
    yield f"extras      {', '.join(extras) or 'none'}"


def _extras() -> dict[str, list[str]]:
    """Extra → the packages that it requires, from the metadata of our own packages."""
    found: dict[str, list[str]] = {}
    for package in _PACKAGES:
        for requirement in importlib.metadata.requires(package) or ():
            match = re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", requirement)
            if match is not None:
                found.setdefault(match[2], []).append(match[1])
    return found


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _permitted(refusal: str | None) -> str:
    return "permitted" if refusal is None else f"not permitted: {refusal}"
