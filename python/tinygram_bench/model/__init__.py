"""Plans, cases and results as values, and the file that holds them."""
