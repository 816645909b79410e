"""Capabilities measured: one operation of each kind is run on the canonical device, and its result looked at."""
