"""`tinygram serve`: this host as the far end of another host's measurements."""
