"""The graph: nodes, edges, names and scopes. Nothing in here computes a value."""
