"""What starts the kernel of the site: Python's memory after its imports, stored when the site is built."""
