"""Facts that the bench reads from this machine, and settings that it changes temporarily."""
