"""The programs that `library_speed.py` sets side by side, each plain enough to be read."""
