"""Makes the scripts of benches/, which are no installed package, importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))
