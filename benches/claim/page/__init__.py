"""The page that says it, from a result alone."""
