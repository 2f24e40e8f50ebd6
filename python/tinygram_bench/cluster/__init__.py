"""Many hosts of a Ray cluster as one load: servers, generators, and one result (`--cluster`)."""

AUTO = "auto"
"""Of `--cluster`: the cluster that this host is a node of, whatever its address."""
