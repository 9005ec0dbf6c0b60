"""Messages between tasks: connections, frames, shared memory. Knows nothing of graphs."""
