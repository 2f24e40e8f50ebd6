"""What this machine can tell apart: a case compared with itself, and with a planted difference."""
