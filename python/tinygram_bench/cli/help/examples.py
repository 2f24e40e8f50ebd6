"""Two examples of each command, which end its help and its man page, and which tests run."""

from __future__ import annotations

from msgspec import Struct


class Example(Struct, frozen=True):
    """A command line, and the question it answers."""

    line: str
    meaning: str


_ONE_BY_ONE_OR_GATHERED = Example(
    "tinygram stream --runtime asyncio --strategy nodelay --strategy adaptive",
    "How many messages a second does asyncio send, written one by one and by the library?",
)
_SERVE_ECHO = Example("tinygram serve echo --port 9000", "Send back what was read, at once.")
_SERVE_RR = Example("tinygram serve rr --port 9001", "Answer the requests of `tinygram rr`.")
_CHECK_CLUSTER = Example(
    "tinygram cluster check", "Which hosts has the cluster of this host, and what lies between?"
)
_CHECK_CLUSTER_AT = Example(
    "tinygram cluster check --cluster 192.0.2.7:6379", "And that of the host 192.0.2.7?"
)
_ECHO_ON_A_CLUSTER = Example(
    "tinygram echo --cluster auto --workers 60 --only asyncio/protocol --only native/epoll",
    "How many messages do two servers send back to the workers of many hosts?",
)

EXAMPLES: dict[str, tuple[Example, Example]] = {
    "tinygram": (
        _ONE_BY_ONE_OR_GATHERED,
        Example("tinygram --version", "Which versions are these, and what is permitted here?"),
    ),
    "tinygram stream": (
        _ONE_BY_ONE_OR_GATHERED,
        Example(
            "tinygram stream --rate 10k --runtime loop --strategy nagle --strategy coalesce:10us",
            "How late are 10,000 messages a second from a plain loop, by either strategy?",
        ),
    ),
    "tinygram rr": (
        Example(
            "tinygram rr --callers 1x4 --connections per-caller --sends-per-request 2",
            "What does it cost to write a request in two parts, with Nagle and without?",
        ),
        Example("tinygram rr --scenarios", "Which known effects can be reproduced?"),
    ),
    "tinygram echo": (
        Example(
            "tinygram echo --size 1000 --only asyncio/protocol --only native/epoll",
            "How many messages does a server on asyncio send back, beside a native one?",
        ),
        Example(
            "tinygram echo --size 64 --depth 32 --reply per-message --only threads/recv",
            "What does a write for each of 32 messages in flight cost a server with threads?",
        ),
    ),
    "tinygram sizes": (
        Example(
            "tinygram sizes --sizes 1,10kB,1MB --samples 100",
            "From which size on does bandwidth count for more than latency?",
        ),
        Example(
            "tinygram sizes --sizes 1,1000 --round-trips 1 --samples 100 --strategy nagle "
            "--strategy nodelay",
            "What does Nagle's algorithm cost a client that writes its setup apart?",
        ),
    ),
    "tinygram fanout": (
        Example(
            "tinygram fanout --subscribers 300 --runtime asyncio --runtime native",
            "How many messages a second go from one publisher to 300 subscribers?",
        ),
        Example(
            "tinygram fanout --subscribers 100 --rate 50 --only asyncio/protocol "
            "--only asyncio/tinygram/protocol/tick",
            "How late has the last of 100 subscribers each message, 50 times a second?",
        ),
    ),
    "tinygram report": (
        Example("tinygram report result.json", "What was found? The tables, once more."),
        Example(
            "tinygram report result.json --html result.html --csv result.csv",
            "What was found? A page with charts, and the figures for a spreadsheet.",
        ),
    ),
    "tinygram compare": (
        Example("tinygram compare before.json after.json", "What changed, and how sure is that?"),
        Example(
            "tinygram compare before.json after.json --gate counts",
            "What changed in counts of writes, segments and bytes, whatever the clock says?",
        ),
    ),
    "tinygram rerun": (
        Example("tinygram rerun result.json", "What does this plan show here, and now?"),
        Example(
            "tinygram rerun result.json --wait --json again.json",
            "What does it show once no other measurement uses the cores? Kept in another file.",
        ),
    ),
    "tinygram trust": (
        Example("tinygram trust --duration 1s", "Which differences can be told apart here?"),
        Example(
            "tinygram trust --page trust.md --pin same",
            "And which on one core, kept as a page in Markdown?",
        ),
    ),
    "tinygram emulate": (
        Example(
            "tinygram emulate wifi -- sh -c 'echo $TINYGRAM_FAR'",
            "Which address has the far host, for programs that run over the link?",
        ),
        Example("tinygram emulate --check", "Which links can be made on this machine?"),
    ),
    "tinygram watch": (
        Example("tinygram watch :8080 --once", "What is queued on port 8080 now?"),
        Example(
            "tinygram watch pid:$$ --once --json",
            "Which connections has this shell? A JSON document says so.",
        ),
    ),
    "tinygram serve": (
        Example("tinygram serve", "Be the far end of measurements with --server on this host."),
        _SERVE_RR,
    ),
    "tinygram serve rr": (
        _SERVE_RR,
        Example(
            "tinygram serve rr --request 100 --reply 100 --strategy nagle",
            "Answer short requests as a server does that leaves Nagle's algorithm on.",
        ),
    ),
    "tinygram serve echo": (
        _SERVE_ECHO,
        Example(
            "tinygram serve echo --reply per-message --size 64 --strategy adaptive",
            "Send back each message of 64 bytes by itself, gathered by the library.",
        ),
    ),
    "tinygram serve sizes": (
        Example("tinygram serve sizes --port 9003", "Acknowledge what `tinygram sizes` sends."),
        Example(
            "tinygram serve sizes --max-message 16MiB --max-connections 64",
            "Let fewer clients send longer messages.",
        ),
    ),
    "tinygram cluster": (_CHECK_CLUSTER, _ECHO_ON_A_CLUSTER),
    "tinygram cluster check": (_CHECK_CLUSTER, _CHECK_CLUSTER_AT),
    "tinygram schema": (
        Example("tinygram schema > schema.json", "Keep the JSON Schema of result files."),
        Example("tinygram schema | head -5", "Which version of JSON Schema is it?"),
    ),
    "tinygram completion": (
        Example(
            "tinygram completion bash > tinygram.bash",
            "A script for bash: source it in ~/.bashrc.",
        ),
        Example(
            "tinygram completion fish > tinygram.fish",
            "A script for fish: put it into ~/.config/fish/completions/.",
        ),
    ),
    "tinygram man": (
        Example("tinygram man --into man1", "Write a man page of each command into a folder."),
        Example(
            "tinygram man --into ~/.local/share/man/man1",
            "Write them where `man tinygram` finds them.",
        ),
    ),
}
"""The words that call a command → its examples."""


def epilog(words: str) -> str:
    """The examples as the end of the help of the command that `words` call."""
    blocks = [f"\b\n  {each.meaning}\n    {each.line}" for each in EXAMPLES[words]]
    return "\n\n".join(("Examples:", *blocks))
