"""The parts of a stream's sending process: messages, their pacers, counters, and a busy thread."""
