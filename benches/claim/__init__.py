"""The test of the claim (`report.CLAIM`) whose result is docs/claim.md.

The flow: grid → measure (rounds, looks) → judge (verdicts, regrets, yardsticks) → result file →
report. Everything after `measure` is a pure function of the runs.
"""
