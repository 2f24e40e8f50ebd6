"""`python -m tinygram` is the command `tinygram`, which the extra `bench` brings."""

from tinygram_bench.cli import main

if __name__ == "__main__":
    main()
