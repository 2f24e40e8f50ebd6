"""The workloads: one package each, with its cases, its processes and its run."""
