"""Figures: those of one run, those of the rounds of a case, and how sure they are."""
