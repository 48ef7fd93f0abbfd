"""Our time and result beside a peer in one run, one thread."""
