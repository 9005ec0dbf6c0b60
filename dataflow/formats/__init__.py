"""File and wire formats: bytes in, arrays and messages out. Nothing here knows of graphs."""
