"""Changes: what differs between two results, and how sure that is (decision 0031)."""
