"""The other one of two hosts that measure together, where `tinygram serve` runs."""
