"""Rewrites: what a run needs (`prune`), and equations that make it quicker, each hit journaled.

`engine.apply` copies the nodes of a plan into a private graph, runs the passes of `passes.PASSES` on
it, one of which applies the rules until none fits, and returns what to run. The user's graph is never touched.
"""
