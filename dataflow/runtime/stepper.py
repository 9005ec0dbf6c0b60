"""Recording a run node by node: the same plan, with a hook after every node."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.kernels.cuda.clock import DeviceClocks
from dataflow.kernels.mutex import release_held
from dataflow.kernels.subnormals import Computing
from dataflow.kernels.xp import is_device_array, to_host
from dataflow.ops.transfer import COPIES
from dataflow.placement.transfers import Placed
from dataflow.rewrites.options import RewriteOptions
from dataflow.runtime.codegen import GeneratedPlan
from dataflow.runtime.ownership import detach
from dataflow.runtime.plan import Plan
from dataflow.runtime.run_errors import annotate_error
from dataflow.runtime.value_sample import ValueSample, not_finite, sample_of, size_of

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


#: How much a recording keeps of each value: all of it, a sample, its size, or nothing.
Keep = bool | Literal["sampled", "sizes"]


class Step(NamedTuple):
    """One node of a recorded run: when it ran and what it produced.

    ``seconds`` is the time since the node before it was done (on a GPU by its own clock, where a copy
    may run beside other nodes); ``outputs`` holds an array (or a
    `ValueSample`) for each output, ``None`` for resources and for what a branch not taken left
    unset.
    """

    op_name: str
    op_type: str
    device: str
    start_seconds: float
    seconds: float
    outputs: list[Any]


class CopyNode(NamedTuple):
    """A copy between two memories or two tasks: it has a step, but is not in the graph.

    ``source`` is the tensor that is copied; ``dtype`` and ``shape`` (as text) are its own.
    """

    name: str
    op_type: str
    device: str
    source: str
    dtype: str
    shape: str


class Message(NamedTuple):
    """A message from one task to another in a recorded run.

    ``tensors`` are names, none where one task only tells another that a node is done; ``sizes`` their
    bytes, ``num_bytes`` the sum; times in seconds since the run began.
    """

    source: str
    target: str
    tensors: tuple[str, ...]
    sizes: tuple[int, ...]
    sent_seconds: float
    received_seconds: float

    @property
    def num_bytes(self) -> int:
        """The bytes of all its tensors."""
        return sum(self.sizes)


class Hop(NamedTuple):
    """One end of an array's way from ``source`` to ``target`` in a collective exchange, which has a
    number; ``number`` is that of the array on this way.

    ``is_sent``: it left at ``seconds`` since the run began; else it arrived then. The other end is in
    the recorded run of the other member, if they run sessions of their own.
    """

    exchange: int
    number: int
    source: str
    target: str
    name: str
    num_bytes: int
    seconds: float
    is_sent: bool


class Trace(NamedTuple):
    """A recorded run, by names. ``result`` is what `Session.run` returns.

    ``copies`` are the nodes that are not in the graph: copies between memories, and a ``_Send`` and a
    ``_Recv`` for each tensor that one task sent to another. ``inputs`` names the inputs of those nodes
    that read one of them. ``messages`` are empty in a run of one process. ``started`` in seconds since
    1970.
    """

    graph: Any
    steps: list[Step]
    result: Any
    fetches: list[str]
    feeds: list[str]
    feed_values: dict[str, Any]
    needed: frozenset[str]
    pruned: frozenset[str]
    error: Exception | None = None
    copies: tuple[CopyNode, ...] = ()
    inputs: dict[str, list[str]] = {}
    messages: tuple[Message, ...] = ()
    started: float = 0.0
    hops: tuple[Hop, ...] = ()


def record(
    session: BaseSession,
    fetches: Any,
    feed_dict: Mapping[Any, Any] | None = None,
    values: Keep = True,
    catch: bool = False,
) -> Trace:
    """Runs ``fetches`` once and keeps every node's outputs, in the order they were computed.

    State changes as in `Session.run`. ``values`` says how much is kept: True the whole values,
    "sampled" and "sizes" a `ValueSample` of each (which costs a few percent of a run), False only the
    times. Except for True, nodes whose value is not read (only a control edge asks for
    them) are left out, as in any run that is repeated. With ``catch=True`` an error of a node ends
    the recording and is kept in ``Trace.error``; else it is raised as `Session.run` would.

    Results are those of `Session.run` to the bit, except for sums of products in a loop, such as the
    gradient of weights: here each iteration adds its product, and the sum is rounded every time.
    """
    session.check_open()
    graph = session.graph
    if session.remote is not None:
        trace: Trace = session.remote.record(fetches, feed_dict, bool(values), catch)
        return trace if values is True or not values else _reduced(trace, values)
    plan, fed = session.plan_for(fetches, feed_dict)
    generated, ops, origin, devices = _traced(plan, values is True)
    arguments = plan.convert_feeds(fed)
    steps: list[Step] = []
    keep = _keeper(values)
    clock, began = time.perf_counter, time.time()
    on_devices = DeviceClocks(devices, clock)
    started = last = clock()

    def hook(number: int, outputs: tuple[Any, ...]) -> None:
        nonlocal last
        now = clock()
        on_devices.note(number, len(steps), last)
        op = ops[number]
        kept = [keep(v) for v in outputs] if values else []
        steps.append(Step(op.name, op.type, op.device, last - started, now - last, kept))
        last = clock()

    result: Any = None
    error: Exception | None = None
    try:
        with Computing(), contextlib.ExitStack() as scopes:
            for scope in plan.thread_scopes:
                scopes.enter_context(scope())
            flat = generated.function(hook, *arguments)
        result = plan.fetches.rebuild([detach(v) for v in flat])
    except Exception as e:
        release_held()
        error = annotate_error(e, generated, origin, session)
        if not catch:
            raise error from e
    finally:
        for i, turn in on_devices.turns().items():
            steps[i] = steps[i]._replace(start_seconds=turn.start - started, seconds=turn.seconds)
    everything = {op.name for op in graph.get_operations()}
    return Trace(
        graph,
        steps,
        result,
        plan.fetches.names,
        [t.name for t in plan.feeds],
        {t.name: v for t, v in zip(plan.feeds, arguments, strict=True)},
        plan.needed,
        frozenset(everything - plan.needed),
        error,
        tuple(copy_node(op) for op in ops if op.type in COPIES),
        {op.name: inputs_of(op) for op in ops if reads_copy(op)},
        started=began,
    )


def copy_node(op: Operation) -> CopyNode:
    """The trace's entry for a copy."""
    source = op.inputs[0]
    dtype, shape = source.dtype.base_dtype.name, str(source.shape)
    return CopyNode(op.name, op.type, op.device, source.name, dtype, shape)


def reads_copy(op: Operation) -> bool:
    """Whether the placer replaced an input of the node by a copy."""
    return any(t.op.type in COPIES for t in op.inputs)


def inputs_of(op: Operation) -> list[str]:
    """The names of a placed node's inputs, control inputs with a ``^``."""
    return [t.name for t in op.inputs] + [f"^{c.name}" for c in op.control_inputs]


class _Traced(NamedTuple):
    """A plan with hooks: its function, the nodes by their numbers, and their origins."""

    generated: GeneratedPlan
    ops: Sequence[Operation]
    origin: dict[Operation, Operation] | None
    devices: dict[int, str]  # of the nodes whose kernels run on a GPU


#: Created once for each recorded plan: with all needed nodes, and without the unread ones.
_traced_plans: weakref.WeakKeyDictionary[Plan, dict[bool, _Traced]] = weakref.WeakKeyDictionary()


def _traced(plan: Plan, everything: bool) -> _Traced:
    known = _traced_plans.setdefault(plan, {})
    if everything not in known:
        known[everything] = _trace_plan(plan, everything)
    return known[everything]


def _trace_plan(plan: Plan, everything: bool) -> _Traced:
    ops, fetches, feeds, origin = plan.ops, plan.fetches.tensors, plan.feeds, None
    fetch_operations = plan.fetches.operations
    options = plan.session.rewrite_options
    if not everything and options is not None and options.dependencies:
        from dataflow.rewrites import engine

        rewritten = engine.apply(ops, fetches, fetch_operations, feeds, _UNREAD_ONLY)
        ops, fetches, fetch_operations, feeds, _, origin = rewritten
    placed = plan.place(ops, fetches, fetch_operations, feeds, origin)
    generated = plan.generator(placed, trace=True).generate()
    return _Traced(generated, placed.ops, placed.origin, numbers_on_gpus(placed))


def numbers_on_gpus(placed: Placed) -> dict[int, str]:
    """The numbers of the nodes whose kernels run on a GPU, and which."""
    where = placed.kernel_devices
    return {i: where[op] for i, op in enumerate(placed.ops) if op in where}


#: The rewrites that remove nodes which only a control edge asks for, and change no others.
_UNREAD_ONLY = RewriteOptions.only("dependencies")


def _keeper(values: Keep) -> Callable[[Any], Any]:
    """A function that returns what is kept of an output during the run."""
    if values == "sampled":
        return _Sampler().keep
    if values == "sizes":
        # The size of a GPU array is known without copying it.
        return lambda value: size_of(value) if is_device_array(value) else _on_host(value, size_of)
    return copy_on_host


class _Sampler:
    """Samples values; one that is seen again right after (an Identity, a read) is not checked
    again.

    A variable's array may change between two nodes, so that only an array that comes from the node
    before counts as known.
    """

    def __init__(self) -> None:
        self._known: tuple[int, int] | None = None
        self._counts = (0, 0)

    def keep(self, value: Any) -> Any:
        return _on_host(value, self._sample)

    def _sample(self, array: np.ndarray) -> ValueSample:
        memory = (array.__array_interface__["data"][0], array.nbytes)
        if memory != self._known:
            self._known, self._counts = memory, not_finite(array)
        nan, inf = self._counts
        return sample_of(array, check=False)._replace(num_nan=nan, num_inf=inf)


def _reduced(trace: Trace, values: Keep) -> Trace:
    """A trace with whole values, reduced as if less had been kept."""
    keep = _keeper(values)
    return trace._replace(
        steps=[step._replace(outputs=[keep(v) for v in step.outputs]) for step in trace.steps]
    )


def copy_on_host(value: Any) -> Any:
    """A value as it is now, as a NumPy array of its own: a later node may change a buffer."""
    return _on_host(value, np.ndarray.copy)


def _on_host(value: Any, use: Callable[[np.ndarray], Any]) -> Any:
    """``use`` of a value as a NumPy array; None for a value that is no array."""
    if isinstance(value, np.ndarray):
        return use(value)
    if isinstance(value, np.generic):
        return use(np.asarray(value))
    if is_device_array(value):
        return use(to_host(value))
    if isinstance(value, (bytes, str)):
        return use(np.asarray(value, dtype=object))
    return None
