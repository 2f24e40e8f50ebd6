"""The words on `sizes`: the model, whether it holds and where not; nothing that is not known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.report.printing import answer_in, printed
