"""Sending with tinygram itself, through its public face, as a program of its users would."""
