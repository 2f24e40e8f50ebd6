"""The command's words about itself: examples, shell completion, man pages and the version.

All are made from the command tree that `--help` is made from.
"""
