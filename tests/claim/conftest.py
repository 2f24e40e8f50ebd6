"""Makes `claim.…`, which is no installed package, and `tests.…` importable."""

import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(_ROOT), str(_ROOT / "benches")]
