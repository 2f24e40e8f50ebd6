"""`--cross-check`: other programs do the same work in the same rounds, and set ours right or wrong.

peer.py is what a program is to us; one file for each program; selection.py says which of them run,
run.py is one run of one of them, interleaved.py puts these between the runs of a plan. To add a
program: a file with a `Program`, and a line in selection.py.

Laws: a peer gets the same cores, a private network like ours, and a bounded time; its server is
known to be ours before its client starts; an exit status of 0 proves nothing, a figure must be in
its output.
"""
