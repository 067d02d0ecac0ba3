"""Measurements of what the package costs and of how well it works."""
