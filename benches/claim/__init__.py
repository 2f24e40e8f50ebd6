"""The test of this claim, whose result is docs/claim.md.

"Without tuning, `adaptive` is not worse than the best fixed strategy of each cell, in latency and
in CPU at the rate, and its worst regret over all cells is far below every single fixed strategy's."

The flow: grid → measure (rounds, looks) → judge (verdicts, regrets, yardsticks) → result file →
report. Everything after `measure` is a pure function of the runs.
"""
