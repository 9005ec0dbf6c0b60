"""The rewrite engine: copies a plan's nodes, runs the passes, and returns nodes and journal."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

# The files of rules are loaded so that their rules are registered.
from dataflow.rewrites import (  # noqa: F401
    algebra,
    layout,
    loop_accumulator_sinking,
    nn,
    passes,
    slice_sums,
    unordered_reads,
)
from dataflow.rewrites.gradual import Steps, finish
from dataflow.rewrites.journal import Enough, Hit, WatchedJournal
from dataflow.rewrites.options import RewriteOptions
from dataflow.rewrites.symbolic_shapes import EqualDims
from dataflow.rewrites.working_graph import WorkingGraph

Watch = Callable[[WorkingGraph, Hit], None]


class Rewritten(NamedTuple):
    """The nodes to run in place of the original ones."""

    ops: list[Operation]
    fetches: list[Tensor]
    fetch_operations: list[Operation]
    feeds: list[Tensor]
    journal: list[Hit]
    origin: dict[Operation, Operation]


def apply(
    ops: Sequence[Operation],
    fetches: Sequence[Tensor],
    fetch_operations: Iterable[Operation],
    feeds: Sequence[Tensor],
    options: RewriteOptions,
    watch: Watch | None = None,
    equal_dims: EqualDims | None = None,
    batch_size_hint: int | None = None,
    gpu_nodes: Collection[Operation] = (),
    num_hits: int | None = None,
) -> Rewritten:
    """Rewrites the nodes of one plan; the originals stay as they are.

    ``watch(work, hit)`` is called after each rewrite, with the graph as it is then. The result is
    valid for feeds in which the dimensions of each group of ``equal_dims`` are equal.
    ``batch_size_hint`` is the size assumed for unknown dimensions in cost estimates. ``gpu_nodes``:
    those of ``ops`` whose kernels run on a GPU. With ``num_hits`` only that many rewrites, the first
    ones, are made, so that what one of them saves can be measured.
    """
    return finish(
        apply_gradually(
            ops,
            fetches,
            fetch_operations,
            feeds,
            options,
            watch,
            equal_dims,
            batch_size_hint,
            gpu_nodes,
            num_hits,
        )
    )


def apply_gradually(
    ops: Sequence[Operation],
    fetches: Sequence[Tensor],
    fetch_operations: Iterable[Operation],
    feeds: Sequence[Tensor],
    options: RewriteOptions,
    watch: Watch | None = None,
    equal_dims: EqualDims | None = None,
    batch_size_hint: int | None = None,
    gpu_nodes: Collection[Operation] = (),
    num_hits: int | None = None,
    known: Mapping[Tensor, bool] | None = None,
    scalars: Collection[Tensor] = (),
) -> Steps[Rewritten]:
    """As `apply`, in steps (`gradual.Steps`), and for runs that feed ``known`` (`known_predicates`), and single
    numbers for ``scalars``."""
    sums = loop_accumulator_sinking.find(ops, feeds, fetches) if options.loop_accumulators else []
    work = yield from WorkingGraph.made_gradually(ops, fetches, fetch_operations, feeds, scalars)
    fed = {work.feed_of(tensor): value for tensor, value in (known or {}).items()}
    unordered_reads.keep_order(work, fed)
    journal: list[Hit] = []
    if watch is not None or num_hits is not None:
        journal = WatchedJournal(functools.partial(watch, work) if watch else None, num_hits)
    plan = passes.Rewriting(
        work, journal, options, sums, equal_dims or [], batch_size_hint, gpu_nodes, fed, {}
    )
    if num_hits != 0:
        with contextlib.suppress(Enough):
            yield from passes.run_all(plan)
    return _rewritten(work, journal)


def _rewritten(work: WorkingGraph, journal: list[Hit]) -> Rewritten:
    return Rewritten(
        work.needed(),
        work.fetch_tensors(),
        work.fetch_operations(),
        work.feed_tensors,
        journal,
        work.origin,
    )


def as_always(
    ops: Sequence[Operation],
    fetches: Sequence[Tensor],
    fetch_operations: Iterable[Operation],
    feeds: Sequence[Tensor],
) -> Rewritten | None:
    """The rewrites that every plan gets, from its first run and with all options off.

    `apply` begins with them. They are the only ones that may change how values are rounded. ``None``
    where there is nothing to change, which is found out before any node is copied.
    """
    sums = loop_accumulator_sinking.find(ops, feeds, fetches)
    if not sums:
        return None
    work = WorkingGraph(ops, fetches, fetch_operations, feeds)
    journal: list[Hit] = []
    loop_accumulator_sinking.run(work, journal, sums)
    return _rewritten(work, journal)
