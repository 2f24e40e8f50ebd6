"""What the command says about itself: examples, shell completion, man pages and the version.

All of them are made from the command tree that `--help` is made from.
"""
