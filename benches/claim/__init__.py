"""The test of the claim (`report.CLAIM`), which docs/claim.md sums up.

The flow: grid → measure (rounds, looks) → judge (verdicts, regrets, yardsticks) → result file →
report. Everything after `measure` is a pure function of the runs.
"""
