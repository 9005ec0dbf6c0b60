"""Which groups of rewrites a session applies; light, as every session looks at it."""

from __future__ import annotations

from typing import Any, NamedTuple

#: The largest constant that folding makes, unless `OptimizerOptions` says otherwise.
MAX_FOLDED_BYTES = 10 * 1024 * 1024


class Switches(NamedTuple):
    """Which groups of rewrites are on.

    ``dead_branches`` is TensorFlow's loop optimizer, ``debug_ops`` its debug stripper (off unless
    asked for), ``reuse`` its memory optimizer: a dying value's buffer taken over by the next.
    ``regions`` makes kernels with several results. ``for_cpu`` are rewrites to nodes that only the
    CPU has kernels for: packed weights, pooling with a bias, joined updates. ``loop_sums`` is no
    choice of the user's: see `rewrites.loop_sums`.
    Graphs of fewer than ``min_nodes`` nodes stay as they are.
    """

    arithmetic: bool = True
    constant_folding: bool = True
    common_subgraphs: bool = True
    remapping: bool = True
    dependencies: bool = True
    dead_branches: bool = True
    debug_ops: bool = False
    reuse: bool = True
    regions: bool = True
    for_cpu: bool = True
    loop_sums: bool = True
    min_nodes: int = 0
    max_folded_bytes: int = MAX_FOLDED_BYTES

    @classmethod
    def from_config(cls, config: Any) -> Switches | None:
        """The switches of a `ConfigProto`; ``None`` when everything is off."""
        options = config.graph_options.optimizer_options
        rewriter = config.graph_options.rewrite_options
        if options.opt_level < 0 or rewriter.disable_meta_optimizer:
            return None
        off = rewriter.OFF
        return cls(
            arithmetic=rewriter.arithmetic_optimization != off,
            constant_folding=options.do_constant_folding and rewriter.constant_folding != off,
            common_subgraphs=options.do_common_subexpression_elimination
            and rewriter.common_subgraph_elimination != off,
            remapping=rewriter.remapping != off,
            dependencies=rewriter.dependency_optimization != off,
            dead_branches=rewriter.loop_optimization != off,
            debug_ops=rewriter.debug_stripper in (rewriter.ON, rewriter.AGGRESSIVE),
            reuse=rewriter.memory_optimization != rewriter.NO_MEM_OPT,
            regions=rewriter.remapping != off,
            for_cpu=rewriter.remapping != off,
            min_nodes=rewriter.min_graph_nodes,
            max_folded_bytes=options.max_folded_constant_in_bytes or MAX_FOLDED_BYTES,
        )

    def where(self, has_gpu: bool) -> Switches:
        """Those that are on in a session with or without a GPU."""
        return self._replace(for_cpu=False, loop_sums=False) if has_gpu else self

    def allows(self, group: str) -> bool:
        """Whether a rule's group is on."""
        return bool(getattr(self, group))
