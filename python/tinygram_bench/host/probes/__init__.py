"""What the bench reads from the host: facts that travel with a result."""
