"""Which groups of rewrites a session applies. Imports little, as every session loads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dataflow.runtime.config import ConfigProto


#: The largest constant that folding makes, unless `OptimizerOptions` says otherwise.
MAX_FOLDED_BYTES = 10 * 1024 * 1024


class RewriteOptions(NamedTuple):
    """Which groups of rewrites are on; `passes.PASSES` says which passes each of them is for.

    The comment on a field names the options of `RewriterConfig` and `OptimizerOptions` that turn it
    off, if there are any.
    """

    #: Rules (`rules.rewrite`) and `broadcasting`. ``arithmetic_optimization``.
    arithmetic: bool = True
    #: `folding`: nodes whose inputs are all constants, and known shapes.
    #: ``constant_folding``, ``do_constant_folding``.
    constant_folding: bool = True
    #: `common_subexpressions`. ``common_subgraph_elimination``,
    #: ``do_common_subexpression_elimination``.
    common_subgraphs: bool = True
    #: `fusion`: one kernel for element-wise nodes with one result. ``remapping``.
    remapping: bool = True
    #: Control edges that order nothing: `dependencies`, `control_dependency_gates`.
    #: ``dependency_optimization``.
    dependencies: bool = True
    #: `dead_branches`, TensorFlow's loop optimizer. ``loop_optimization``.
    dead_branches: bool = True
    #: `debug_ops`, TensorFlow's debug stripper. Off unless ``debug_stripper`` turns it on.
    debug_ops: bool = False
    #: TensorFlow's memory optimizer: the buffer of a value after its last use is reused for the next.
    #: Not a rewrite of the graph: `runtime.buffers` does it. ``memory_optimization``.
    reuse: bool = True
    #: Neighboring nodes of small kernels become one call of machine code, after some runs. Not a rewrite of the
    #: graph: `runtime.plan_recorder` does it. ``remapping``.
    call_lists: bool = True
    #: `multi_output_fusion` (kernels with several results), `row_fusion`, `repeated_rows`. ``remapping``.
    regions: bool = True
    #: Rewrites to nodes that have CPU kernels only: packed weights, pooling and convolutions with
    #: a bias, joined updates, lookups of sparse ids. ``remapping``; off in a session with a GPU.
    for_cpu: bool = True
    #: `loop_accumulator_sinking`. No option, as results would be rounded differently. Off in a session with
    #: a GPU.
    loop_accumulators: bool = True
    #: Graphs of fewer nodes stay as they are. ``min_graph_nodes``.
    min_nodes: int = 0
    #: The largest constant that folding makes. ``max_folded_constant_in_bytes``.
    max_folded_bytes: int = MAX_FOLDED_BYTES

    @classmethod
    def only(cls, *names: str) -> RewriteOptions:
        """Only the named groups are on."""
        off = {name: False for name, value in cls._field_defaults.items() if value is True}
        return cls(**off | dict.fromkeys(names, True))

    @classmethod
    def from_config(cls, config: ConfigProto) -> RewriteOptions | None:
        """The options of a `ConfigProto`; ``None`` when everything is off."""
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
            call_lists=rewriter.remapping != off,
            regions=rewriter.remapping != off,
            for_cpu=rewriter.remapping != off,
            min_nodes=rewriter.min_graph_nodes,
            max_folded_bytes=options.max_folded_constant_in_bytes or MAX_FOLDED_BYTES,
        )

    def where(self, has_gpu: bool) -> RewriteOptions:
        """The options for a session with or without a GPU."""
        return self._replace(for_cpu=False, loop_accumulators=False) if has_gpu else self
