"""The page of the claim, made from a result alone."""
