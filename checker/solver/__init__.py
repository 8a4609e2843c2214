"""Z3: which scenarios there are, which interleavings arise, what every reaction keeps.  Nothing else in the checker imports it."""
