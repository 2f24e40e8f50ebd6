"""What this machine can tell apart: cases beside themselves, and with planted differences."""
