"""`python -m tinygram_bench` is the command `tinygram`."""

from tinygram_bench.cli import main

if __name__ == "__main__":
    main()
