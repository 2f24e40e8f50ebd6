"""What runs say, as figures: of one run, of the rounds of a case, and how sure they are."""
