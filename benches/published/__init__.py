"""Rows that benches measured, stored in results/published/rows, and the pages that show them."""
