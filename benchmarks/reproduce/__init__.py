"""Our results beside the figures that the sources published."""
