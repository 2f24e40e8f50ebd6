"""`tinygram serve`: this host as the far end of another one's measurements."""
