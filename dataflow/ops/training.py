"""Ops that optimizers are made of: each changes a variable, and its slots, by one rule.

Every rule exists twice: for a dense gradient, and ("SparseApply") for rows of one. Inputs are named
as TensorFlow's; the formulas are in `dataflow.kernels.training`.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims


def _dense(var: Tensor, grad: Tensor, slots: dict[str, Tensor], **scalars: Tensor) -> Dims:
    """The common shape of variable, slots and gradient; ``scalars`` must be scalars."""
    dims = _with_slots(var, slots)
    if not shapes.compatible(dims, grad.dims):
        raise ValueError(
            f"the variable has shape {shapes.list_dims(dims)}, its gradient "
            f"{shapes.list_dims(grad.dims)}\nA gradient must have the shape of its variable."
        )
    _scalars(scalars)
    return shapes.merge(dims, grad.dims)


def _sparse(
    var: Tensor, grad: Tensor, indices: Tensor, slots: dict[str, Tensor], **scalars: Tensor
) -> Dims:
    """As `_dense`, for a gradient that holds the rows ``indices`` only."""
    dims = _with_slots(var, slots)
    if indices.dims is not None and len(indices.dims) != 1:
        raise ValueError(f"indices must be a vector, got shape {shapes.list_dims(indices.dims)}")
    if dims is not None and grad.dims is not None:
        first = indices.dims[0] if indices.dims else None
        wanted = (first, *dims[1:])
        if not dims or not shapes.compatible(wanted, grad.dims):
            raise ValueError(
                f"the variable has shape {shapes.list_dims(dims)}, the rows of its gradient "
                f"{shapes.list_dims(grad.dims)}\nNeeded is {shapes.list_dims(wanted)}: one row for "
                "each index."
            )
    _scalars(scalars)
    return dims


def _with_slots(var: Tensor, slots: dict[str, Tensor]) -> Dims:
    dims = var.dims
    for name, slot in slots.items():
        if not shapes.compatible(dims, slot.dims):
            raise ValueError(
                f"the variable has shape {shapes.list_dims(dims)}, its slot {name!r} "
                f"{shapes.list_dims(slot.dims)}"
            )
        dims = shapes.merge(dims, slot.dims)
    return dims


def _scalars(scalars: dict[str, Tensor]) -> None:
    for name, tensor in scalars.items():
        if tensor.dims is not None and tensor.dims != ():
            raise ValueError(f"{name} must be a scalar, got shape {shapes.list_dims(tensor.dims)}")


#: For ops that update only some rows of variables, and for those that update all in one pass.
_R: dict[str, Any] = {
    "T": dtypes.NUMBERS,
    "Tindices": dtypes.INDICES,
    "cost": 0.003,
    "shares_work": "large",
    "skips_negative_rows": True,
}
_N: dict[str, Any] = {
    "T": dtypes.NUMBERS,
    "cost": 0.003,
    "shares_work": "large",
    "inline_safe": True,
    "is_dense_update": True,
}


@define_op(
    "ApplyGradientDescent",
    "var: Ref(T), alpha: T, delta: T -> out: Ref(T)",
    **_N,
    keeps_nothing=True,
)
def apply_gradient_descent(
    var: Tensor, alpha: Tensor, delta: Tensor, *, use_locking: bool = False
) -> Dims:
    """``var -= alpha * delta``. Shape: the variable's; alpha is a scalar."""
    return _dense(var, delta, {}, alpha=alpha)


@define_op(
    "ApplyProximalGradientDescent",
    "var: Ref(T), alpha: T, l1: T, l2: T, delta: T -> out: Ref(T)",
    **_N,
)
def apply_proximal_gradient_descent(
    var: Tensor, alpha: Tensor, l1: Tensor, l2: Tensor, delta: Tensor, *, use_locking: bool = False
) -> Dims:
    """A gradient step, then shrinking towards 0 by l1 and l2 (forward-backward splitting).

    Shape: the variable's; alpha, l1 and l2 are scalars.
    """
    return _dense(var, delta, {}, alpha=alpha, l1=l1, l2=l2)


@define_op(
    "SparseApplyProximalGradientDescent",
    "var: Ref(T), alpha: T, l1: T, l2: T, grad: T, indices: Tindices -> out: Ref(T)",
    **_R,
)
def sparse_apply_proximal_gradient_descent(
    var: Tensor,
    alpha: Tensor,
    l1: Tensor,
    l2: Tensor,
    grad: Tensor,
    indices: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """As ApplyProximalGradientDescent, for the rows ``indices``."""
    return _sparse(var, grad, indices, {}, alpha=alpha, l1=l1, l2=l2)


@define_op(
    "ApplyMomentum",
    "var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T -> out: Ref(T)",
    **_N,
    keeps_nothing=True,
)
def apply_momentum(
    var: Tensor,
    accum: Tensor,
    lr: Tensor,
    grad: Tensor,
    momentum: Tensor,
    *,
    use_locking: bool = False,
    use_nesterov: bool = False,
) -> Dims:
    """``accum = momentum * accum + grad; var -= lr * accum``, or Nesterov's form of it.

    Shape: the variable's; lr and momentum are scalars.
    """
    return _dense(var, grad, {"accum": accum}, lr=lr, momentum=momentum)


@define_op(
    "SparseApplyMomentum",
    "var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices, momentum: T -> out: Ref(T)",
    **_R,
)
def sparse_apply_momentum(
    var: Tensor,
    accum: Tensor,
    lr: Tensor,
    grad: Tensor,
    indices: Tensor,
    momentum: Tensor,
    *,
    use_locking: bool = False,
    use_nesterov: bool = False,
) -> Dims:
    """As ApplyMomentum, for the rows ``indices``."""
    return _sparse(var, grad, indices, {"accum": accum}, lr=lr, momentum=momentum)


@define_op(
    "ApplyAdagrad",
    "var: Ref(T), accum: Ref(T), lr: T, grad: T -> out: Ref(T)",
    **_N,
    keeps_nothing=True,
)
def apply_adagrad(
    var: Tensor,
    accum: Tensor,
    lr: Tensor,
    grad: Tensor,
    *,
    use_locking: bool = False,
    update_slots: bool = True,
) -> Dims:
    """``accum += grad**2; var -= lr * grad / sqrt(accum)``.

    Shape: the variable's; lr is a scalar. Source: Duchi, Hazan and Singer, 2011.
    """
    return _dense(var, grad, {"accum": accum}, lr=lr)


@define_op(
    "SparseApplyAdagrad",
    "var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices -> out: Ref(T)",
    **_R,
)
def sparse_apply_adagrad(
    var: Tensor,
    accum: Tensor,
    lr: Tensor,
    grad: Tensor,
    indices: Tensor,
    *,
    use_locking: bool = False,
    update_slots: bool = True,
) -> Dims:
    """As ApplyAdagrad, for the rows ``indices``."""
    return _sparse(var, grad, indices, {"accum": accum}, lr=lr)


@define_op(
    "ApplyProximalAdagrad",
    "var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T -> out: Ref(T)",
    **_N,
)
def apply_proximal_adagrad(
    var: Tensor,
    accum: Tensor,
    lr: Tensor,
    l1: Tensor,
    l2: Tensor,
    grad: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """An Adagrad step, then shrinking towards 0 by l1 and l2 (forward-backward splitting).

    Shape: the variable's; lr, l1 and l2 are scalars.
    """
    return _dense(var, grad, {"accum": accum}, lr=lr, l1=l1, l2=l2)


@define_op(
    "SparseApplyProximalAdagrad",
    "var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T, indices: Tindices -> out: Ref(T)",
    **_R,
)
def sparse_apply_proximal_adagrad(
    var: Tensor,
    accum: Tensor,
    lr: Tensor,
    l1: Tensor,
    l2: Tensor,
    grad: Tensor,
    indices: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """As ApplyProximalAdagrad, for the rows ``indices``."""
    return _sparse(var, grad, indices, {"accum": accum}, lr=lr, l1=l1, l2=l2)


@define_op(
    "ApplyAdagradDA",
    "var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, "
    "lr: T, l1: T, l2: T, global_step: int64 -> out: Ref(T)",
    host_inputs=(),  # the step is a number of the rule, read where the variable is
    **_N,
)
def apply_adagrad_da(
    var: Tensor,
    gradient_accumulator: Tensor,
    gradient_squared_accumulator: Tensor,
    grad: Tensor,
    lr: Tensor,
    l1: Tensor,
    l2: Tensor,
    global_step: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """Adagrad with dual averaging: the variable follows the mean of all gradients so far.

    Shape: the variable's; lr, l1, l2 and global_step are scalars. Source: Duchi, Hazan and
    Singer, 2011.
    """
    slots = {
        "gradient_accumulator": gradient_accumulator,
        "gradient_squared_accumulator": gradient_squared_accumulator,
    }
    return _dense(var, grad, slots, lr=lr, l1=l1, l2=l2, global_step=global_step)


@define_op(
    "SparseApplyAdagradDA",
    "var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, "
    "indices: Tindices, lr: T, l1: T, l2: T, global_step: int64 -> out: Ref(T)",
    host_inputs=(),
    **_R,
)
def sparse_apply_adagrad_da(
    var: Tensor,
    gradient_accumulator: Tensor,
    gradient_squared_accumulator: Tensor,
    grad: Tensor,
    indices: Tensor,
    lr: Tensor,
    l1: Tensor,
    l2: Tensor,
    global_step: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """As ApplyAdagradDA, for the rows ``indices``."""
    slots = {
        "gradient_accumulator": gradient_accumulator,
        "gradient_squared_accumulator": gradient_squared_accumulator,
    }
    return _sparse(var, grad, indices, slots, lr=lr, l1=l1, l2=l2, global_step=global_step)


@define_op(
    "ApplyAdadelta",
    "var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T "
    "-> out: Ref(T)",
    **_N,
)
def apply_adadelta(
    var: Tensor,
    accum: Tensor,
    accum_update: Tensor,
    lr: Tensor,
    rho: Tensor,
    epsilon: Tensor,
    grad: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """A step as long as the recent steps were, relative to the recent gradients.

    Shape: the variable's; lr, rho and epsilon are scalars. Source: Zeiler, 2012, algorithm 1.
    """
    slots = {"accum": accum, "accum_update": accum_update}
    return _dense(var, grad, slots, lr=lr, rho=rho, epsilon=epsilon)


@define_op(
    "SparseApplyAdadelta",
    "var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T, "
    "indices: Tindices -> out: Ref(T)",
    **_R,
)
def sparse_apply_adadelta(
    var: Tensor,
    accum: Tensor,
    accum_update: Tensor,
    lr: Tensor,
    rho: Tensor,
    epsilon: Tensor,
    grad: Tensor,
    indices: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """As ApplyAdadelta, for the rows ``indices``."""
    slots = {"accum": accum, "accum_update": accum_update}
    return _sparse(var, grad, indices, slots, lr=lr, rho=rho, epsilon=epsilon)


@define_op(
    "ApplyRMSProp",
    "var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T "
    "-> out: Ref(T)",
    **_N,
    keeps_nothing=True,
)
def apply_rms_prop(
    var: Tensor,
    ms: Tensor,
    mom: Tensor,
    lr: Tensor,
    rho: Tensor,
    momentum: Tensor,
    epsilon: Tensor,
    grad: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """A momentum step with the gradient divided by the root of its recent mean square.

    Shape: the variable's; lr, rho, momentum and epsilon are scalars. Source: Hinton, Tieleman,
    lecture 6e of "Neural networks for machine learning", 2012.
    """
    slots = {"ms": ms, "mom": mom}
    return _dense(var, grad, slots, lr=lr, rho=rho, momentum=momentum, epsilon=epsilon)


@define_op(
    "SparseApplyRMSProp",
    "var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T, "
    "indices: Tindices -> out: Ref(T)",
    **_R,
)
def sparse_apply_rms_prop(
    var: Tensor,
    ms: Tensor,
    mom: Tensor,
    lr: Tensor,
    rho: Tensor,
    momentum: Tensor,
    epsilon: Tensor,
    grad: Tensor,
    indices: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """As ApplyRMSProp, for the rows ``indices``."""
    slots = {"ms": ms, "mom": mom}
    return _sparse(var, grad, indices, slots, lr=lr, rho=rho, momentum=momentum, epsilon=epsilon)


@define_op(
    "ApplyCenteredRMSProp",
    "var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T -> out: Ref(T)",
    **_N,
)
def apply_centered_rms_prop(
    var: Tensor,
    mg: Tensor,
    ms: Tensor,
    mom: Tensor,
    lr: Tensor,
    rho: Tensor,
    momentum: Tensor,
    epsilon: Tensor,
    grad: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """As ApplyRMSProp, with the recent variance in place of the mean square.

    Shape: the variable's; lr, rho, momentum and epsilon are scalars. Source: Graves, 2013, eq. 38
    to 45.
    """
    slots = {"mg": mg, "ms": ms, "mom": mom}
    return _dense(var, grad, slots, lr=lr, rho=rho, momentum=momentum, epsilon=epsilon)


@define_op(
    "SparseApplyCenteredRMSProp",
    "var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T, indices: Tindices -> out: Ref(T)",
    **_R,
)
def sparse_apply_centered_rms_prop(
    var: Tensor,
    mg: Tensor,
    ms: Tensor,
    mom: Tensor,
    lr: Tensor,
    rho: Tensor,
    momentum: Tensor,
    epsilon: Tensor,
    grad: Tensor,
    indices: Tensor,
    *,
    use_locking: bool = False,
) -> Dims:
    """As ApplyCenteredRMSProp, for the rows ``indices``."""
    slots = {"mg": mg, "ms": ms, "mom": mom}
    return _sparse(var, grad, indices, slots, lr=lr, rho=rho, momentum=momentum, epsilon=epsilon)


@define_op(
    "ApplyAdam",
    "var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, "
    "beta2: T, epsilon: T, grad: T -> out: Ref(T)",
    **_N,
    keeps_nothing=True,
)
def apply_adam(
    var: Tensor,
    m: Tensor,
    v: Tensor,
    beta1_power: Tensor,
    beta2_power: Tensor,
    lr: Tensor,
    beta1: Tensor,
    beta2: Tensor,
    epsilon: Tensor,
    grad: Tensor,
    *,
    use_locking: bool = False,
    use_nesterov: bool = False,
) -> Dims:
    """A step along the mean gradient over the root of the mean square, both corrected for bias.

    Shape: the variable's; all but var, m, v and grad are scalars. Source: Kingma and Ba, 2015,
    the form at the end of section 2.
    """
    return _dense(
        var,
        grad,
        {"m": m, "v": v},
        beta1_power=beta1_power,
        beta2_power=beta2_power,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
    )


@define_op(
    "ApplyFtrl",
    "var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, lr_power: T "
    "-> out: Ref(T)",
    **_N,
)
def apply_ftrl(
    var: Tensor,
    accum: Tensor,
    linear: Tensor,
    grad: Tensor,
    lr: Tensor,
    l1: Tensor,
    l2: Tensor,
    lr_power: Tensor,
    *,
    use_locking: bool = False,
    multiply_linear_by_lr: bool = False,
) -> Dims:
    """Follow the regularized leader, proximal form.

    Shape: the variable's; lr, l1, l2 and lr_power are scalars. Source: McMahan et al., "Ad click
    prediction: a view from the trenches", 2013, algorithm 1.
    """
    slots = {"accum": accum, "linear": linear}
    return _dense(var, grad, slots, lr=lr, l1=l1, l2=l2, lr_power=lr_power)


@define_op(
    "SparseApplyFtrl",
    "var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, "
    "lr_power: T -> out: Ref(T)",
    **_R,
)
def sparse_apply_ftrl(
    var: Tensor,
    accum: Tensor,
    linear: Tensor,
    grad: Tensor,
    indices: Tensor,
    lr: Tensor,
    l1: Tensor,
    l2: Tensor,
    lr_power: Tensor,
    *,
    use_locking: bool = False,
    multiply_linear_by_lr: bool = False,
) -> Dims:
    """As ApplyFtrl, for the rows ``indices``."""
    slots = {"accum": accum, "linear": linear}
    return _sparse(var, grad, indices, slots, lr=lr, l1=l1, l2=l2, lr_power=lr_power)


@define_op(
    "ApplyFtrlV2",
    "var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, "
    "lr_power: T -> out: Ref(T)",
    **_N,
)
def apply_ftrl_v2(
    var: Tensor,
    accum: Tensor,
    linear: Tensor,
    grad: Tensor,
    lr: Tensor,
    l1: Tensor,
    l2: Tensor,
    l2_shrinkage: Tensor,
    lr_power: Tensor,
    *,
    use_locking: bool = False,
    multiply_linear_by_lr: bool = False,
) -> Dims:
    """As ApplyFtrl, with ``2 * l2_shrinkage * var`` added to the gradient (but not to its square).

    Shape: the variable's; lr, l1, l2, l2_shrinkage and lr_power are scalars.
    """
    slots = {"accum": accum, "linear": linear}
    scalars = {"l1": l1, "l2": l2, "l2_shrinkage": l2_shrinkage, "lr_power": lr_power}
    return _dense(var, grad, slots, lr=lr, **scalars)


@define_op(
    "SparseApplyFtrlV2",
    "var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, "
    "l2_shrinkage: T, lr_power: T -> out: Ref(T)",
    **_R,
)
def sparse_apply_ftrl_v2(
    var: Tensor,
    accum: Tensor,
    linear: Tensor,
    grad: Tensor,
    indices: Tensor,
    lr: Tensor,
    l1: Tensor,
    l2: Tensor,
    l2_shrinkage: Tensor,
    lr_power: Tensor,
    *,
    use_locking: bool = False,
    multiply_linear_by_lr: bool = False,
) -> Dims:
    """As ApplyFtrlV2, for the rows ``indices``."""
    slots = {"accum": accum, "linear": linear}
    scalars = {"l1": l1, "l2": l2, "l2_shrinkage": l2_shrinkage, "lr_power": lr_power}
    return _sparse(var, grad, indices, slots, lr=lr, **scalars)


not_differentiable(
    apply_gradient_descent,
    apply_proximal_gradient_descent,
    sparse_apply_proximal_gradient_descent,
    apply_momentum,
    sparse_apply_momentum,
    apply_adagrad,
    sparse_apply_adagrad,
    apply_proximal_adagrad,
    sparse_apply_proximal_adagrad,
    apply_adagrad_da,
    sparse_apply_adagrad_da,
    apply_adadelta,
    sparse_apply_adadelta,
    apply_rms_prop,
    sparse_apply_rms_prop,
    apply_centered_rms_prop,
    sparse_apply_centered_rms_prop,
    apply_adam,
    apply_ftrl,
    sparse_apply_ftrl,
    apply_ftrl_v2,
    sparse_apply_ftrl_v2,
)
