"""In a lesson's kernel: every plan is run without rewrites and with them, and the values compared.

Installed before the first cell. The first run of each plan (one set of fetches and
feeds) is done twice from the same variables: first as the graph was built, then rewritten. What an
op gives that is another thing each time (a random op, an iterator, a queue, a Python function) is
taken from the first run and fed to the second, so that nothing is drawn twice. The lesson gets the
values of the first, and `report()` says what was compared.

A graph that trains also takes some steps on a GPU (`compare_devices`).

Not compared: runs in other processes or threads of a cluster's tasks, in the stepper and under a trace; runs that
begin while another thread's run is under way; plans whose effects cannot be repeated, by reason in
`skipped`.
"""

from __future__ import annotations

import collections
import threading
import weakref
from typing import Any

import numpy as np

from dataflow.errors import OpError
from dataflow.introspect import variables
from dataflow.kernels.xp import gpus, to_host
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from tests.lessons import compare_devices

#: Rounding of float32 through some hundred operations; float64 is held to more.
TOLERANCE = {np.dtype(np.float32): 2e-4, np.dtype(np.float64): 1e-8}
#: Of the numbers of a variable that is trained: as many may take another step (`_by_rounding`).
MOST_BY_ROUNDING = 1 / 200
#: Stateful ops that a second run from the same variables repeats.
REPEATABLE = frozenset(
    {
        *("VariableV2", "Variable", "VarHandleOp", "ReadVariableOp", "Empty", "GuaranteeConst"),
        *("Assert", "CheckNumerics", "TensorArrayV3", "TensorArraySizeV3", "TensorArrayCloseV3"),
        *("StackV2", "StackPushV2", "StackPopV2", "StackCloseV2", "TemporaryVariable"),
        *("DestroyTemporaryVariable", "HashTableV2", "IteratorV2", "OneShotIterator"),
        *("MakeIterator", "TensorDataset", "TensorSliceDataset", "RangeDataset"),
        "GeneratorDataset",
    }
)

num_plans = num_rewritten = num_values = 0
skipped: collections.Counter[str] = collections.Counter()
differences: list[str] = []
_seen: weakref.WeakSet[Plan] = weakref.WeakSet()
_gate = threading.RLock()  # held for a comparison, and to begin and end any other run
_num_running = 0
_run = Plan.run


def _changing(plan: Plan) -> list[Any]:
    """The outputs that another run would not give again; raises `NotImplementedError`."""
    found = []
    fed = set(plan.feeds)
    for op in plan.ops:
        if not op.op_def.stateful or op.type in REPEATABLE or op.type.startswith("Assign"):
            continue
        # Members of a collective wait for each other, and a comparison holds the others up.
        if not op.outputs or op.type.startswith("Collective"):
            raise NotImplementedError(op.type)
        if op._get_control_flow_context() is not None:
            raise NotImplementedError(f"{op.type} in a loop or branch")
        if any(t.dtype.name == "resource" or t.dtype._is_ref_dtype for t in op.outputs):
            raise NotImplementedError(op.type)
        found += [t for t in op.outputs if t not in fed]
    return found


def _assigns(op: Any) -> bool:
    """Whether an op may change a variable that it is given."""
    return op.type != "Identity" and any(t.dtype._is_ref_dtype for t in op.inputs)


def _made(plan: Plan, fetches: list[Any], feeds: list[Any], *, rewritten: bool) -> Plan:
    session = plan.session
    options = session.rewrite_options
    session.rewrite_options = options if rewritten else None
    try:
        made = Plan(session, FetchPlan(session.graph, fetches, session), feeds)
    finally:
        session.rewrite_options = options
    if rewritten:
        made.rewrite()
    return made


def _differ(what: str, off: Any, on: Any, before: Any = None) -> None:
    """Notes that a value is another one; ``before``: a variable's own before the step."""
    global num_values
    num_values += 1
    off, on = np.asarray(to_host(off)), np.asarray(to_host(on))
    if off.dtype != on.dtype or off.shape != on.shape:
        differences.append(f"{what}: {off.dtype}{off.shape} became {on.dtype}{on.shape}")
    elif off.dtype in TOLERANCE:
        limit = TOLERANCE[off.dtype]
        scale = float(np.max(np.abs(off[np.isfinite(off)]), initial=1.0))
        close = np.isclose(off, on, rtol=limit, atol=limit * scale, equal_nan=True)
        if not (close.all() or _by_rounding(close, off, on, before)):
            worst = float(np.nanmax(np.abs(off - on)))
            differences.append(f"{what}: differs by {worst:.3g}, values up to {scale:.3g}")
    elif off.dtype.kind == "S" and gpus():
        pass  # a summary's numbers, which a GPU's rewritten plan adds up in another order
    elif off.dtype != object and not np.array_equal(off, on):
        differences.append(f"{what}: {off.ravel()[:3]} became {on.ravel()[:3]}")


def _by_rounding(close: Any, off: Any, on: Any, before: Any) -> bool:
    """Whether the few numbers that are not ``close`` may differ because Adam's step is as large for a
    gradient that is nothing but rounding as for any other.
    """
    if before is None or np.count_nonzero(~close) > MOST_BY_ROUNDING * close.size:
        return False
    steps = [np.max(np.abs(value - np.asarray(to_host(before)))) for value in (off, on)]
    return bool(np.max(np.abs(off - on)) <= 2 * steps[0] and steps[1] <= 1.01 * steps[0])


def _compare(plan: Plan, values: list[Any]) -> Any:
    """Both runs; returns what the first gave."""
    global num_plans, num_rewritten
    session = plan.session
    changing = _changing(plan)
    wanted = [*plan.fetches.tensors, *plan.fetches.operations]
    before = variables.snapshot(session)
    try:
        off = _made(plan, [*wanted, *changing], plan.feeds, rewritten=False)
        on = _made(plan, wanted, [*plan.feeds, *changing], rewritten=True)
    except (OpError, TypeError, ValueError) as e:
        raise NotImplementedError(f"{type(e).__name__}: {e}") from e
    # What is fed to the second run needs no inputs: an assignment among them would not happen.
    if any(_assigns(op) for op in set(off.ops) - set(on.ops)):
        raise NotImplementedError("an assignment before what changes")
    arguments = off.convert_feeds(values)
    first = [to_host(value) for value in off.run_flat(list(arguments))]
    after = variables.snapshot(session)
    assert before is not None and after is not None
    given = dict(zip(off.fetches.tensors, first, strict=True))
    variables.restore(session, before)
    second = on.run_flat([*arguments, *(np.asarray(given[t]) for t in changing)])
    num_plans += 1
    num_rewritten += bool(on.journal)
    for tensor, value in zip(on.fetches.tensors, second, strict=True):
        _differ(tensor.name, given[tensor], value)
    trained = compare_devices.trains(on.ops)
    for name, value in variables.snapshot(session).items():
        if value is not after.get(name) and value is not None:
            _differ(f"variable {name}", after[name], value, before.get(name) if trained else None)
    if trained:
        fed = [*arguments, *(np.asarray(given[t]) for t in changing)]
        values_before = {n: to_host(v) for n, v in before.items() if v is not None}
        feeds = dict(zip(on.feeds, fed, strict=True))
        compare_devices.compare(on.ops, wanted, feeds, values_before)
    variables.restore(session, after)
    return plan._rebuild([given[t] for t in plan.fetches.tensors])


def _compared_run(plan: Plan, values: Any) -> Any:
    global _num_running
    if compare_devices.is_of_a_task():
        return _run(plan, values)
    with _gate:
        # A variable that another thread changes meanwhile would differ.
        if plan not in _seen and not _num_running:
            _seen.add(plan)
            values = list(values)
            _num_running += 1
            try:
                return _compare(plan, values)
            except NotImplementedError as e:
                skipped[str(e)] += 1
            finally:
                _num_running -= 1
        _num_running += 1
    try:
        return _run(plan, values)
    finally:
        with _gate:
            _num_running -= 1


def report() -> dict[str, Any]:
    """What was compared, as values that JSON has."""
    return {
        "plans": num_plans,
        "rewritten": num_rewritten,
        "values": num_values,
        "skipped": skipped,
        "differences": differences,
        "on_gpu": compare_devices.report(),
    }


def install() -> None:
    """From now on, in this process."""
    compare_devices.install()
    Plan.run = _compared_run  # type: ignore[method-assign]
