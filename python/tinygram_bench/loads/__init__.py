"""The messages that are sent, and when they are due."""
