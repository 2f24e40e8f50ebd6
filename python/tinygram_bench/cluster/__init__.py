"""Many hosts of a Ray cluster as one load: servers, generators, and one result (`--cluster`)."""

AUTO = "auto"
"""A value of `--cluster`: the cluster of which this host is a node, whatever its address."""
PARTIAL = "partial_cluster"
"""The code of the warning that a run misses the share of a host that failed."""
