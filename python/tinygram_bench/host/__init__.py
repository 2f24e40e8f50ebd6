"""What the bench asks of this machine, and changes on it for a while."""
