"""Graph rewrites: pruning (`prune`), and passes and rules that make a run faster; each is journaled.

`engine.apply` copies the nodes of a plan into a private graph, runs the passes of `passes.PASSES` on
it (one of them applies the rules until none matches), and returns what to run. The user's graph is
never touched.
"""
