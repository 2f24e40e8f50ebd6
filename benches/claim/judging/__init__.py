"""What the runs say: pure functions of them."""
