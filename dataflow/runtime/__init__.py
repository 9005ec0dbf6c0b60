"""The runtime: sessions, plans, and the state that outlives a run."""
