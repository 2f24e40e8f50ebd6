"""`tinygram watch`: what the kernel holds of the connections and listeners of a port or a process.

The flow: targets.py (the port or process) → reading.py (its `Snapshot`) → tables.py → live.py.
"""
