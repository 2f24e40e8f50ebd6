"""How should my program send its messages over TCP? Measured honestly.

The library half of tinygram; the bench half is `tinygram.bench`, run as the command `tinygram`.
"""

from tinygram._native import __version__

__all__ = ["__version__"]
