"""Everything that touches torch; the only folder that imports it."""
