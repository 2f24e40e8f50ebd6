"""TLS 1.3 between the two ends of a run, with certificates that are made for it."""
