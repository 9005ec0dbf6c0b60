"""`Session.explain`: what the engine makes of a run, as plain data with a readable form.

Nothing runs: the plan is made, rewritten and compiled as it would be for `Session.run`, and then
taken apart. Only `Explanation.time_saved` runs it, where that changes nothing. The dictionary (`Explanation.to_dict`) is JSON-safe, so that a widget can replay it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow.display import mimebundle
from dataflow.introspect import offers
from dataflow.introspect.explain_tasks import ClusterExplanation, explain_tasks
from dataflow.introspect.graph_json import graph_to_dict, node_to_dict
from dataflow.introspect.offers import Offer
from dataflow.introspect.rewrite_history import RewriteHistory, RewriteStep
from dataflow.introspect.rewrite_times import NotMeasured, RewriteTime, RewriteTimes
from dataflow.introspect.sections import as_html, as_text, rows
from dataflow.kernels.cuda.elementwise import fused_source
from dataflow.kernels.cuda.row_regions import FULL, pattern_of, rows_source
from dataflow.kernels.cuda.row_threads import row_form
from dataflow.providers import provided
from dataflow.runtime.feeds import flatten_feeds
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.nan_origin import without_checks
from dataflow.runtime.plan import Plan
from dataflow.shapes import Dims, num_elements

if TYPE_CHECKING:
    from dataflow.graph.operation import Operation
    from dataflow.graph.tensor import Tensor
    from dataflow.runtime.base_session import BaseSession


class Lifetime(NamedTuple):
    """One value of the plan: where it is made, when it is dropped, and what holds it.

    ``made`` and ``dropped`` are positions in ``Explanation.order``, -1 for what is there before the
    run; ``dropped`` is ``None`` for what outlives it. ``buffer`` says in words what memory it is;
    ``num_bytes`` is ``None`` while the shape is not known.
    """

    tensor: str
    local: str
    made: int
    dropped: int | None
    buffer: str
    num_bytes: int | None


class Explanation(NamedTuple):
    """A run taken apart.

    ``before`` and ``after`` hold node dictionaries (see `graph_json`) of the pruned graph and of
    what is left of it when it is rewritten; ``journal`` the rewrites in the order in which they
    fitted, as dictionaries of `rewrites.journal.Hit`; ``kernels`` the source of each fused kernel
    by its node; ``source`` the plan as Python, without its checks for
    NaN; ``order`` the nodes that cost a line of it.
    ``graph`` holds the nodes of the whole graph, ``steps`` what each rewrite makes of it; pruning
    is the first. ``offers`` are forms that would give better values, and that no rewrite therefore
    puts in the graph's place (see `introspect.offers`). ``times`` measures what rewrites save (see
    `time_saved`); it is no data, so that `to_dict` leaves it out.
    """

    fetches: list[str]
    feeds: list[str]
    before: list[dict[str, Any]]
    after: list[dict[str, Any]]
    journal: list[dict[str, Any]]
    kernels: dict[str, str]
    source: str
    order: list[str]
    lifetimes: list[Lifetime]
    graph: list[dict[str, Any]]
    steps: list[RewriteStep]
    offers: list[Offer]
    times: RewriteTimes

    def time_saved(self, number: int) -> RewriteTime:
        """What step ``number`` (from 1, as in ``steps``) saves, measured in runs with and without it.

        Takes half a second at most and changes nothing. Raises `NotMeasured`, which says why, for
        pruning (what is pruned is never run), where values to feed are missing, and where a node
        changes something.
        """
        if not 1 <= number <= len(self.steps):
            raise ValueError(f"there are steps 1 to {len(self.steps)}, got {number}")
        if number == 1:
            raise NotMeasured("what no fetch needs is never run, with or without the rewrites")
        hits = [step.num_hits for step in self.steps[1:number]]
        return self.times.measure(sum(hits[:-1]) + 1, sum(hits))

    def player(self, **options: Any) -> Any:
        """The rewrites one by one, before and after: a `dataflow_widgets.RewritePlayer`."""
        return provided("rewrite_player")(self, **options)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-safe dictionaries and lists."""
        return {
            **{key: value for key, value in self._asdict().items() if key != "times"},
            "lifetimes": [value._asdict() for value in self.lifetimes],
            "steps": [step._asdict() for step in self.steps],
            "offers": [offer._asdict() for offer in self.offers],
        }

    def __repr__(self) -> str:
        return as_text(self._sections())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return mimebundle(self, include, exclude)

    def to_html(self) -> str:
        """The sections of the text, folded. No ``_repr_html_``: Jupyter would show it beside the player."""
        return as_html(self._sections())

    def _sections(self) -> list[tuple[str, str]]:
        """Titles with their texts."""
        sections = [
            (
                f"run of {', '.join(self.fetches) or 'nothing'}"
                + (f", fed {', '.join(self.feeds)}" if self.feeds else ""),
                f"{len(self.before)} nodes before the rewrites, {len(self.after)} after them, "
                f"{len(self.order)} lines of code",
            ),
            (
                f"rewrites ({len(self.journal)})",
                rows([f"{h['equation']}    at {h['before']}" for h in self.journal]) or "none",
            ),
            (f"plan ({len(self.order)} lines)", self.source.rstrip()),
        ]
        if self.offers:
            sections.insert(2, offers.section(self.offers))
        for name, source in self.kernels.items():
            sections.append((f"fused kernel {name}", source.rstrip()))
        values = [
            f"{v.local:>8} {v.tensor}: made {_place(v.made)}, dropped {_place(v.dropped)}; "
            + v.buffer
            + (f", {v.num_bytes:,} bytes" if v.num_bytes is not None else "")
            for v in self.lifetimes
        ]
        sections.append((f"values ({len(values)})", rows(values) or "none"))
        return sections


def explain(
    session: BaseSession, fetches: Any, feed_dict: Any = None
) -> Explanation | ClusterExplanation:
    """Makes the plan for a run, rewrites it and takes it apart; see `Session.explain`."""
    graph = session.graph
    feeds: list[Tensor]
    values: Mapping[Any, Any] | None = None
    if feed_dict is None or isinstance(feed_dict, Mapping):
        values = dict(feed_dict or {})
        feeds = list(flatten_feeds(graph, values)) if values else []
    else:
        feeds = [graph.as_graph_element(t, allow_operation=False) for t in feed_dict]
    if session.remote is not None:
        return explain_tasks(session.remote, fetches, feeds)
    plan = Plan(session, FetchPlan(graph, fetches), feeds)
    if plan.forms is not None and values is not None:
        plan = plan.forms.plan_for(list(flatten_feeds(graph, values).values())) or plan
    before = [node_to_dict(op) for op in plan.ops]
    nodes = graph_to_dict(graph)["nodes"]
    history = RewriteHistory(nodes, plan.ops, plan.feeds)
    plan.rewrite(history.watch)
    generated = plan.generated
    order = [line.op.name for line in generated.lines if line.op is not None]
    return Explanation(
        list(plan.fetches.names),
        [t.name for t in plan.feeds],
        before,
        [node_to_dict(op) for op in plan.compiled_ops],
        [{k: v for k, v in hit._asdict().items() if v != ""} for hit in plan.journal],
        _kernels(plan),
        without_checks(generated.source),
        order,
        _lifetimes(plan),
        nodes,
        history.finish(),
        offers.find(plan.ops),
        RewriteTimes(session, fetches, plan.feeds, values),
    )


#: Stands for a size that is not known, the batch's.
_SOME_SIZE = 997


def _kernels(plan: Plan) -> dict[str, str]:
    """The source of each fused kernel by its node, for the device that it runs on."""
    sources = {hit.added[0]: hit.source for hit in plan.journal if hit.source}
    for op in plan.kernel_devices:
        program, full = op.attrs.get("program"), op.attrs.get("full_shape")
        if op.name not in sources or (program is None and "region" not in op.attrs):
            continue
        if full is not None:  # of rows
            letters = "".join(_pattern_of_rows(t.dims, full) for t in op.inputs)
            form = row_form(full[-1], op.attrs["region"].dtype, letters.count(FULL))
            sources[op.name] = rows_source(op.attrs["region"], letters, form)
            continue
        sums = program is not None and bool(program.reduction) and not program.over_rows
        region = op.attrs["region"] if program is None else program.chain
        shape = None if program is not None and program.reduction else op.outputs[0].dims
        patterns = "".join(_pattern(t.dims, shape) for t in op.inputs)
        sources[op.name] = fused_source(region, patterns, len(shape or ()) or 1, sums=sums)
    return sources


def _pattern_of_rows(dims: Dims, full: Sequence[int | None]) -> str:
    """How a kernel over rows reads an input; as large as the rows where nothing else is known."""
    if dims is None:
        return FULL
    shape, whole = (tuple(_SOME_SIZE if d is None else d for d in s) for s in (dims, full))
    return pattern_of(shape, whole) or FULL


def _pattern(dims: Dims, shape: Dims) -> str:
    """How a GPU's kernel reads an input; as large as the result where nothing else is known."""
    if dims is None or shape is None or dims == shape:
        return "f"
    return "s" if all(d == 1 for d in dims) else "b"


def _lifetimes(plan: Plan) -> list[Lifetime]:
    generated = plan.generated
    code = generated.function.__code__
    parameters = code.co_varnames[: code.co_argcount]
    tensors: dict[str, Tensor] = {}
    result: list[Lifetime] = []
    for tensor, text in generated.values.items():
        local = text.partition(".")[0]
        op = tensor.op
        if op.op_def.is_variable:
            kind = "the variable's own, changed in place where no run or fetch still holds it"
            result.append(Lifetime(tensor.name, local, -1, None, kind, _num_bytes(tensor)))
        elif op.type == "Const":
            kind = "a constant, shared by all runs"
            result.append(Lifetime(tensor.name, local, -1, None, kind, _num_bytes(tensor)))
        elif op.type == "Placeholder" or local in parameters:
            kind = "the array that was fed"
            result.append(Lifetime(tensor.name, local, -1, None, kind, _num_bytes(tensor)))
        elif not op.op_def.is_alias:
            tensors.setdefault(local, tensor)
    made: dict[str, int] = {}
    dropped: dict[str, int] = {}
    position = -1
    for i, line in enumerate(generated.lines):
        if line.op is not None:
            position += 1
        for local in line.sets:
            made.setdefault(local, position)
        for local in generated.drops.get(i, ()):
            dropped[local] = position
    for local, where in made.items():
        made_tensor = tensors.get(local)
        if made_tensor is None:
            continue
        end = dropped.get(local)
        kind = _buffer(made_tensor.op, generated.reused.get(local), end is None)
        result.append(Lifetime(made_tensor.name, local, where, end, kind, _num_bytes(made_tensor)))
    return result


def _buffer(op: Operation, reused: str | None, outlives: bool) -> str:
    if reused is not None:
        return f"the buffer of {reused}, which is dead by then"
    if op.op_def.view_of is not None:
        return f"a view of {op.inputs[op.op_def.view_of].name} where NumPy allows it"
    return "its own, handed to the caller" if outlives else "its own, freed when dropped"


def _num_bytes(tensor: Tensor) -> int | None:
    count = num_elements(tensor.dims)
    if count is None or not tensor.dtype.is_numpy_compatible:
        return None
    return int(count * tensor.dtype.base_dtype.size)


def _place(position: int | None) -> str:
    if position is None:
        return "by the caller"
    return "before the run" if position < 0 else f"at line {position + 1}"
