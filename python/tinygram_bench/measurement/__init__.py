"""A plan is run, and its result recorded as it grows."""
