"""Why two cases differ: their difference, taken apart into what was counted and timed.

Laws: a pure function of the runs. What the parts leave over is a part of its own, and has a name:
unexplained. Where no difference is shown, nothing is explained.
"""
