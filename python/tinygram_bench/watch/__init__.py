"""`tinygram watch`: what the kernel holds of the connections and listeners of a port or a process.

targets.py (the port or process) → reading.py (a `Snapshot` of it) → tables.py → live.py.
"""
