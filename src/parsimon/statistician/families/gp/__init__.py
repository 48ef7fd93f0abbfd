"""What the search over kernels finds: its answers, and their parts, variables and figures."""
