"""What the bench tells every receiver, whoever wrote it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """What of a receiver's command line our programs look at; `words` are all of it."""

    messages: int
    min_bytes: int
    max_bytes: int
    seed: int
    receive_buffer: int
    notes: str
    parent: int
    words: tuple[str, ...]

    @staticmethod
    def from_arguments(words: Sequence[str]) -> Options:
        parser = argparse.ArgumentParser()
        for name in ("messages", "min-bytes", "max-bytes", "seed", "receive-buffer", "parent"):
            parser.add_argument(f"--{name}", type=int, required=True)
        parser.add_argument("--notes", required=True)
        known, _others = parser.parse_known_args(words)
        return Options(**vars(known), words=tuple(words))

    def words_for(self, parent: int) -> list[str]:
        """The same words for a receiver that is to die with another parent."""
        words = list(self.words)
        words[words.index("--parent") + 1] = str(parent)
        return words
