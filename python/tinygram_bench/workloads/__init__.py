"""What is exchanged: one package per workload, each with its cases, its processes and its run."""
