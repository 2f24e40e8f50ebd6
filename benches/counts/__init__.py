"""Counts that no noise reaches: instructions, writes and wake-ups a message.

The flow: `faces` (the program, under callgrind) → `callgrind` (what was counted) → `judging`
(beside what is expected) → `__main__` (the table, and the verdict).
"""
