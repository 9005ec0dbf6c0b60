"""Kernels of optimizers: one rule each, applied in place to a variable and its slots.

A rule (`optimizer_rules`) is written once, as a function that changes arrays of one shape in place
with two scratch arrays for intermediate results. Dense kernels call it block by block, so that a block of variable,
slots, gradient and scratch stays in the cache and no array of the variable's size is ever made;
sparse ones call it on the rows. The scratch is kept from step to step; the variable's lock guards
it. Where llvmlite is installed, a rule that is used often becomes a loop in machine code, one pass
over everything (`jit.compiler`), with the same results bit for bit. Checks come first: an update
that fails changes nothing.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels import optimizer_rules
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.optimizer_updates import update_on_gpu
from dataflow.kernels.jit import compiler
from dataflow.kernels.jit.rule_tracer import trace_call
from dataflow.kernels.jit.thread_pool import run_calls
from dataflow.kernels.listed_updates import ListedUpdates
from dataflow.kernels.parallel import run_pieces
from dataflow.kernels.registry import kernel
from dataflow.kernels.row_updates import RowUpdate, Rule, locked, release, shape_of_all, update_rows

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

#: Elements of each array that are worked on at a time: six float32 arrays of 128 kB fit in L2.
BLOCK = 32_768
#: From this size on, another thread takes a share of the blocks; waking it takes about 0.1 ms.
_SHARED_ELEMENTS = 1 << 20
#: The same for a compiled loop, which threads wait for (`jit.thread_pool`), and elements of a piece.
_NATIVE_SHARED_ELEMENTS, _NATIVE_BLOCK = 1 << 16, 1 << 18

#: By op type, for those with a dense gradient and those with one of rows: ``described(xp, scalars, attrs)``,
#: the rule and its scalars.
_DESCRIBED: dict[str, Callable[[Module, tuple[Any, ...], dict[str, Any]], Any]] = {}


def _update_kernels(
    name: str,
    rule: Rule,
    num_refs: int,
    grad: int,
    *,
    attr: str | None = None,
    arrange: Callable[..., tuple[Rule, tuple[Any, ...]]] | None = None,
    sparse: bool = True,
    kinds: tuple[str, ...] = ("", "Resource"),
) -> None:
    """The kernels of ``Apply<name>`` and, with ``sparse``, of ``SparseApply<name>``, of these kinds.

    The inputs of both are the variable and its slots (``num_refs``), then scalars; the gradient is
    input ``grad``, and the indices of a sparse one follow it. The rule gets the scalars in the order
    of the inputs, the value of ``attr`` last; ``arrange(xp, *scalars, **attrs)`` says another rule
    or other scalars.
    """
    attrs = () if attr is None else (attr,)

    def described(xp: Module, scalars: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        if arrange is not None:
            return arrange(xp, *scalars, **attrs)
        return rule, (*scalars, *attrs.values())

    # As if it were the rule itself: what `dataflow_widgets.op_reference` shows is its source.
    @kernel(*[f"{kind}Apply{name}" for kind in kinds], stateful=True, attrs=attrs)
    @functools.wraps(rule)
    def dense_kernel(context: KernelContext, *inputs: Any, **attrs: Any) -> None:
        scalars = inputs[num_refs:grad] + inputs[grad + 1 :]
        if arrange is None and not attrs:
            update_dense(context, inputs[:num_refs], (inputs[grad],), rule, scalars)
            return
        chosen, scalars = described(context.xp, scalars, attrs)
        update_dense(context, inputs[:num_refs], (inputs[grad],), chosen, scalars)

    _DESCRIBED.update((f"{kind}Apply{name}", described) for kind in kinds)
    if not sparse:
        return

    @kernel(*[f"{kind}SparseApply{name}" for kind in kinds], stateful=True, attrs=attrs)
    @functools.wraps(rule)
    def sparse_kernel(context: KernelContext, *inputs: Any, **attrs: Any) -> None:
        scalars = inputs[num_refs:grad] + inputs[grad + 2 :]
        chosen, scalars = described(context.xp, scalars, attrs)
        update = RowUpdate(list(inputs[:num_refs]), inputs[grad], inputs[grad + 1])
        update_rows(context, [update], chosen, scalars)

    _DESCRIBED.update((f"{kind}SparseApply{name}", described) for kind in kinds)


def update_dense(
    context: Any, refs: Sequence[Any], grads: Sequence[Any], rule: Rule, scalars: tuple[Any, ...]
) -> None:
    """One rule for each gradient and its part of ``refs``: a variable and its slots.

    Nothing changes where one of them has a wrong shape. All are of one type.
    """
    xp = context.xp
    if xp is np:
        listed = context.state.get("updates")
        if listed is None:
            listed = context.state.setdefault("updates", ListedUpdates())
        if listed.run(refs, grads, rule, scalars):
            return
    each = len(refs) // len(grads)
    pairs = [(refs[i * each : (i + 1) * each], grad) for i, grad in enumerate(grads)]
    held = locked(refs)
    try:
        for refs, grad in pairs:
            shape = shape_of_all(refs)
            if grad.shape != shape:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"var and grad do not have the same shape: {refs[0].name!r} has {list(shape)}, "
                    f"the gradient {list(np.shape(grad))}",
                )
        members = [([ref.exclusive() for ref in refs], grad) for refs, grad in pairs]
        if xp is np and _update_natively(members, rule, scalars):
            return
        for arrays, grad in members:
            if xp is np or not update_on_gpu(xp, arrays, grad, None, rule, scalars):
                _update_by_blocks(context, arrays, grad, rule, scalars)
    finally:
        release(held)


def _update_by_blocks(
    context: KernelContext, arrays: list[Any], grad: Array, rule: Rule, scalars: tuple[Any, ...]
) -> None:
    xp, size, dtype = context.xp, arrays[0].size, arrays[0].dtype
    if xp is not np:
        rule(xp, _scratch(context, arrays[0].shape, dtype), *arrays, grad, *scalars)
        return
    if size <= BLOCK:
        scratch = [x[:size].reshape(grad.shape) for x in _thread_scratch(dtype)]
        rule(xp, scratch, *arrays, grad, *scalars)
        return
    flat = [array.reshape(-1) for array in arrays]  # variables are contiguous: views
    flat_grad = grad.reshape(-1)

    def make_worker() -> Callable[[int], None]:
        first, second = _thread_scratch(dtype)

        def work(start: int) -> None:
            part = slice(start, start + BLOCK)
            length = min(BLOCK, size - start)
            rule(
                xp,
                (first[:length], second[:length]),
                *[array[part] for array in flat],
                flat_grad[part],
                *scalars,
            )

        return work

    starts = range(0, size, BLOCK)
    if size >= _SHARED_ELEMENTS:
        run_pieces(starts, make_worker)
        return
    work = make_worker()
    for start in starts:
        work(start)


def _update_natively(
    members: list[tuple[list[Any], Any]], rule: Rule, scalars: tuple[Any, ...]
) -> bool:
    """All updates by one compiled loop; ``False`` where there is none (yet)."""
    dtype = members[0][0][0].dtype
    if dtype.char not in "fd":
        return False
    for _, grad in members:
        if grad.dtype != dtype:
            return False
    traced, numbers = trace_call(rule, members[0][0], scalars, by_rows=False)
    function = traced.loop.get() if traced is not None and traced.on_cpu else None
    if traced is None or function is None:
        return False
    total = 0
    kept = []
    for arrays, grad in members:
        total += grad.size
        if type(grad) is not np.ndarray or not grad.flags.c_contiguous:
            grad = np.ascontiguousarray(grad)
        kept.append((arrays, grad))
    if total < _NATIVE_SHARED_ELEMENTS:
        for arrays, grad in kept:
            where = [id(array) for array in arrays]
            function.prepared((grad.size,))(
                [*where, id(grad), *numbers, *[where[i] for i in traced.changed]]
            )
        return True
    calls = []
    for arrays, grad in kept:
        where = [compiler.address_of(array) for array in arrays]
        values = [*where, compiler.address_of(grad), *numbers, *[where[i] for i in traced.changed]]
        size = grad.size
        if size < _NATIVE_SHARED_ELEMENTS:
            calls.append((function.address, function.table(size, *values)))
            continue
        letters = list(zip(values, function.letters, strict=True))
        block = min(_NATIVE_BLOCK, -(-size // 2))
        for start in range(0, size, block):
            offset = start * dtype.itemsize
            here = [a if letter == "n" else a + offset for a, letter in letters]
            calls.append((function.address, function.table(min(block, size - start), *here)))
    run_calls(calls)
    return True


_local = threading.local()


def _thread_scratch(dtype: Any) -> tuple[Any, Any]:
    """Two arrays of a block, kept for each thread."""
    pairs = _local.__dict__.setdefault("pairs", {})
    pair = pairs.get(dtype)
    if pair is None:
        pair = pairs[dtype] = (np.empty(BLOCK, dtype), np.empty(BLOCK, dtype))
    return pair  # type: ignore[no-any-return]


def _scratch(context: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    pair = context.state.get("scratch")
    if pair is None or pair[0].shape != shape or pair[0].dtype != dtype:
        pair = (context.xp.empty(shape, dtype), context.xp.empty(shape, dtype))
        context.state["scratch"] = pair
    return pair  # type: ignore[no-any-return]


# ---- kernels: where the inputs of each op are ---------------------------------------------------


def _adagrad_da_step(
    xp: Module, lr: Any, l1: Any, l2: Any, step: Any
) -> tuple[Rule, tuple[Any, ...]]:
    # The step's number in the type of the others; the host does not wait for a GPU's.
    number = lr.dtype.type(step) if xp is np else xp.asarray(step).astype(lr.dtype)
    return optimizer_rules.adagrad_da, (lr, l1, l2, number)


def _adam_step(
    xp: Module, beta1_power: Any, beta2_power: Any, lr: Any, *rest: Any, use_nesterov: bool
) -> tuple[Rule, tuple[Any, ...]]:
    if xp is not np:  # a launch for each number would take as long as the update
        return optimizer_rules.adam_by_powers, (lr, beta1_power, beta2_power, *rest, use_nesterov)
    # Arithmetic on scalars takes a quarter of that on arrays of no axes.
    alpha = lr * np.sqrt(1 - beta2_power[()]) / (1 - beta1_power[()])
    return optimizer_rules.adam, (alpha, *rest, use_nesterov)


def _ftrl_step(
    xp: Module, lr: Any, l1: Any, l2: Any, *rest: Any, multiply_linear_by_lr: bool
) -> tuple[Rule, tuple[Any, ...]]:
    *shrinkage, power = rest  # of V2 only
    l2_shrinkage = shrinkage[0] if shrinkage else None
    # To look at a GPU's number would make the host wait.
    by_root = xp is np and bool(power == -0.5)
    return optimizer_rules.ftrl, (lr, l1, l2, power, l2_shrinkage, multiply_linear_by_lr, by_root)


_update_kernels("GradientDescent", optimizer_rules.gradient_descent, 1, 2, sparse=False)
_update_kernels("ProximalGradientDescent", optimizer_rules.proximal_gradient_descent, 1, 4)
_update_kernels("Momentum", optimizer_rules.momentum, 2, 3, attr="use_nesterov")
_update_kernels("Adagrad", optimizer_rules.adagrad, 2, 3, attr="update_slots")
_update_kernels("ProximalAdagrad", optimizer_rules.proximal_adagrad, 2, 5)
_update_kernels("AdagradDA", optimizer_rules.adagrad_da, 3, 3, arrange=_adagrad_da_step)
_update_kernels("Adadelta", optimizer_rules.adadelta, 3, 6)
_update_kernels("RMSProp", optimizer_rules.rms_prop, 3, 7)
_update_kernels("CenteredRMSProp", optimizer_rules.centered_rms_prop, 4, 8)
_update_kernels(
    "Adam", optimizer_rules.adam, 3, 9, attr="use_nesterov", arrange=_adam_step, sparse=False
)
for _name in ("Ftrl", "FtrlV2"):
    _update_kernels(
        _name, optimizer_rules.ftrl, 3, 3, attr="multiply_linear_by_lr", arrange=_ftrl_step
    )
_update_kernels("AdaMax", optimizer_rules.ada_max, 3, 8, sparse=False)
_update_kernels("AdagradV2", optimizer_rules.adagrad_v2, 2, 4, attr="update_slots")
_HANDLES = ("Resource",)
_update_kernels(
    "KerasMomentum", optimizer_rules.keras_momentum, 2, 3, attr="use_nesterov", kinds=_HANDLES
)
_update_kernels(
    "AdamWithAmsgrad", optimizer_rules.adam_with_amsgrad, 4, 10, sparse=False, kinds=_HANDLES
)


@kernel(
    "_UpdateAll",
    stateful=True,
    factory=True,
    cpu_only="a GPU updates its variables one by one; no rewrite makes one for it",
)
def update_all_kernel(
    context: KernelContext, *, update: str, update_attrs: dict[str, Any], R: int, N: int
) -> Callable[..., None]:
    described = _DESCRIBED[update]
    each = R // N

    def run(refs: list[Any], grads: list[Any], scalars: list[Any], rows: list[Any]) -> None:
        rule, numbers = described(context.xp, tuple(scalars), update_attrs)
        if not rows:
            update_dense(context, refs, grads, rule, numbers)
            return
        starts = range(0, R, each)
        updates = [
            RowUpdate(refs[start : start + each], grad, indices)
            for start, grad, indices in zip(starts, grads, rows, strict=True)
        ]
        update_rows(context, updates, rule, numbers)

    return run
