"""The parts of a stream's sending process: its messages, what it counts, a busy thread beside."""
