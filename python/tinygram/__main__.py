"""`python -m tinygram` is the command `tinygram`, which the extra `bench` brings."""

import sys
from importlib.util import find_spec

if __name__ == "__main__":
    if find_spec("tinygram_bench") is None:
        print(
            "tinygram: error: the bench, which has this command, is not installed: "
            "pip install 'tinygram[bench]'",
            file=sys.stderr,
        )
        sys.exit(2)
    from tinygram_bench.cli import main

    main()
