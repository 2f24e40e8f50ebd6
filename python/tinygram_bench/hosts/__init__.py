"""The other host of a measurement between two, where `tinygram serve` runs."""
