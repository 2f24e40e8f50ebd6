"""What is said of two: which way is faster, which won, where nothing can be said, and why."""
