"""`python -m tinygram.bench` is the command `tinygram`."""

from tinygram.bench.cli import main

if __name__ == "__main__":
    main()
