"""Pictures of graphs made in Python, for where no widget can run: GitHub, nbconvert, a plain
file."""
