"""`--cross-check`: other programs do the same work in the same rounds, and confirm or refute ours.

peer.py describes a program, and each program has a file of its own; selection.py says which of them
run, run.py makes one run of one of them, and interleaved.py puts these runs between the runs of a
plan. To add a program, write a file with a `Program`, and add a line in selection.py.

Laws: a peer gets the same cores, a private network like ours, and a bounded time; before its client
starts, the listening server is known to be the one that we started; an exit status of 0 proves
nothing: a figure must be in the output.
"""
