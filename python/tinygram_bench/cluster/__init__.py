"""Many hosts of a Ray cluster as one load: servers, generators, and one result (`--cluster`)."""
