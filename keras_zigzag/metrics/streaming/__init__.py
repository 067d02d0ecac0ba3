"""Accumulators for data that do not fit into memory at once."""
