from tinygram_bench.api import Plan as Plan
from tinygram_bench.api import Result as Result
from tinygram_bench.api import load as load
from tinygram_bench.api import run as run
