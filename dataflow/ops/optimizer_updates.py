"""Ops that optimizers are made of: each changes a variable, and its slots, by one rule.

Every rule exists twice: for a dense gradient, and ("SparseApply") for rows of one. Inputs are named
as TensorFlow's; the formulas are in `dataflow.kernels.optimizer_rules`.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.ops.state import RESOURCE_TWINS, change, reference
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
_ROWS: dict[str, Any] = {
    "T": dtypes.NUMBERS,
    "Tindices": dtypes.INDICES,
    "cost": 0.003,
    "shares_work": "large",
    "skips_negative_rows": True,
    "follows_rule": True,
}
_WHOLE: dict[str, Any] = {
    "T": dtypes.NUMBERS,
    "cost": 0.003,
    "shares_work": "large",
    "inline_safe": True,
    "follows_rule": True,
}


def _update_op(
    op_type: str,
    refs: str,
    inputs: str,
    what: str,
    attrs: str = "",
    *,
    resource_only: bool = False,
    **traits: Any,
) -> OpDef:
    """The op of one rule: ``refs`` are the variable and its slots, ``inputs`` what comes after.

    ``resource_only``: TensorFlow has it for resource variables alone, and that op is returned.
    """
    num_refs = len(refs.split())
    names = f"{refs} {inputs}".split()
    kinds = {"indices": "Tindices", "global_step": "int64"}

    def rule(*tensors: Tensor) -> Dims:
        given = dict(zip(names, tensors, strict=True))
        slots = {name: given.pop(name) for name in names[:num_refs]}
        var = slots.pop("var")
        grad = given.pop("delta" if "delta" in given else "grad")
        if "indices" in given:
            return _sparse(var, grad, given.pop("indices"), slots, **given)
        return _dense(var, grad, slots, **given)

    rule.__name__ = op_type
    rule.__doc__ = what
    signature = [f"{name}: Ref(T)" for name in names[:num_refs]]
    signature += [f"{name}: {kinds.get(name, 'T')}" for name in names[num_refs:]]
    traits.update(_ROWS if "indices" in names else _WHOLE)
    if attrs.startswith("multiply_linear_by_lr"):
        traits["later_attrs"] = {"multiply_linear_by_lr": False}
    attrs = f"use_locking: bool = False, {attrs}"

    def resource_rule(*tensors: Tensor) -> list[Dims]:
        rule(*tensors)
        return []

    resource_rule.__name__ = f"Resource{op_type}"
    resource_rule.__doc__ = f"As {op_type}, of a resource variable. No output."
    twin = define_op(
        f"Resource{op_type}", ", ".join(signature).replace("Ref(", "Handle("), attrs=attrs, **traits
    )(resource_rule)
    refuse_gradient(twin)
    if resource_only:
        return twin
    op: OpDef = define_op(op_type, f"{', '.join(signature)} -> out: Ref(T)", attrs=attrs, **traits)(
        rule
    )
    RESOURCE_TWINS[op_type] = twin
    refuse_gradient(op)
    return op


def update(op: OpDef, var: Any, **inputs: Any) -> Operation:
    """The node of ``op``, or of its twin where ``var`` and its slots are resource variables."""
    made = change(op, reference(var), **inputs)
    return made.op if isinstance(made, Tensor) else made


def _update_ops(
    name: str,
    refs: str,
    inputs: str,
    what: str,
    attrs: str = "",
    *,
    keeps_nothing: bool = False,
    **traits: Any,
) -> tuple[OpDef, OpDef]:
    """The ops ``Apply<name>`` and ``SparseApply<name>``, which has ``indices`` after ``grad``."""
    dense = _update_op(
        f"Apply{name}", refs, inputs, what, attrs, keeps_nothing=keeps_nothing, **traits
    )
    inputs = inputs.replace("grad", "grad indices").replace("delta", "grad indices")
    what = f"As Apply{name}, for the rows ``indices``."
    return dense, _update_op(f"SparseApply{name}", refs, inputs, what, attrs, **traits)


apply_gradient_descent = _update_op(
    "ApplyGradientDescent",
    "var",
    "alpha delta",
    "``var -= alpha * delta``. Shape: the variable's; alpha is a scalar.",
    keeps_nothing=True,
)
apply_proximal_gradient_descent, sparse_apply_proximal_gradient_descent = _update_ops(
    "ProximalGradientDescent",
    "var",
    "alpha l1 l2 delta",
    """A gradient step, then shrinking towards 0 by l1 and l2 (forward-backward splitting).

    Shape: the variable's; alpha, l1 and l2 are scalars.
    """,
)
apply_momentum, sparse_apply_momentum = _update_ops(
    "Momentum",
    "var accum",
    "lr grad momentum",
    """``accum = momentum * accum + grad; var -= lr * accum``, or Nesterov's form of it.

    Shape: the variable's; lr and momentum are scalars.
    """,
    "use_nesterov: bool = False",
    keeps_nothing=True,
)
apply_adagrad, sparse_apply_adagrad = _update_ops(
    "Adagrad",
    "var accum",
    "lr grad",
    """``accum += grad**2; var -= lr * grad / sqrt(accum)``.

    Shape: the variable's; lr is a scalar. Source: Duchi, Hazan and Singer, 2011.
    """,
    "update_slots: bool = True",
    keeps_nothing=True,
)
apply_proximal_adagrad, sparse_apply_proximal_adagrad = _update_ops(
    "ProximalAdagrad",
    "var accum",
    "lr l1 l2 grad",
    """An Adagrad step, then shrinking towards 0 by l1 and l2 (forward-backward splitting).

    Shape: the variable's; lr, l1 and l2 are scalars.
    """,
)
apply_adagrad_da, sparse_apply_adagrad_da = _update_ops(
    "AdagradDA",
    "var gradient_accumulator gradient_squared_accumulator",
    "grad lr l1 l2 global_step",
    """Adagrad with dual averaging: the variable follows the mean of all gradients so far.

    Shape: the variable's; lr, l1, l2 and global_step are scalars. Source: Duchi, Hazan and
    Singer, 2011.
    """,
    host_inputs=(),  # the step is a number of the rule, read where the variable is
)
apply_adadelta, sparse_apply_adadelta = _update_ops(
    "Adadelta",
    "var accum accum_update",
    "lr rho epsilon grad",
    """A step as long as the recent steps were, relative to the recent gradients.

    Shape: the variable's; lr, rho and epsilon are scalars. Source: Zeiler, 2012, algorithm 1.
    """,
)
apply_rms_prop, sparse_apply_rms_prop = _update_ops(
    "RMSProp",
    "var ms mom",
    "lr rho momentum epsilon grad",
    """A momentum step with the gradient divided by the root of its recent mean square.

    Shape: the variable's; lr, rho, momentum and epsilon are scalars. Source: Hinton, Tieleman,
    lecture 6e of "Neural networks for machine learning", 2012.
    """,
    keeps_nothing=True,
)
apply_centered_rms_prop, sparse_apply_centered_rms_prop = _update_ops(
    "CenteredRMSProp",
    "var mg ms mom",
    "lr rho momentum epsilon grad",
    """As ApplyRMSProp, with the recent variance in place of the mean square.

    Shape: the variable's; lr, rho, momentum and epsilon are scalars. Source: Graves, 2013, eq. 38
    to 45.
    """,
)
apply_adam = _update_op(
    "ApplyAdam",
    "var m v",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    """A step along the mean gradient over the root of the mean square, both corrected for bias.

    Shape: the variable's; all but var, m, v and grad are scalars. Source: Kingma and Ba, 2015,
    the form at the end of section 2.
    """,
    "use_nesterov: bool = False",
    keeps_nothing=True,
)
apply_ftrl, sparse_apply_ftrl = _update_ops(
    "Ftrl",
    "var accum linear",
    "grad lr l1 l2 lr_power",
    """Follow the regularized leader, proximal form.

    Shape: the variable's; lr, l1, l2 and lr_power are scalars. Source: McMahan et al., "Ad click
    prediction: a view from the trenches", 2013, algorithm 1.
    """,
    "multiply_linear_by_lr: bool = False",
)
apply_ftrl_v2, sparse_apply_ftrl_v2 = _update_ops(
    "FtrlV2",
    "var accum linear",
    "grad lr l1 l2 l2_shrinkage lr_power",
    """As ApplyFtrl, with ``2 * l2_shrinkage * var`` added to the gradient (but not to its square).

    Shape: the variable's; lr, l1, l2, l2_shrinkage and lr_power are scalars.
    """,
    "multiply_linear_by_lr: bool = False",
)

# ---- Keras's rules, for graphs that TensorFlow wrote ------------------------------------------------

apply_ada_max = _update_op(
    "ApplyAdaMax",
    "var m v",
    "beta1_power lr beta1 beta2 epsilon grad",
    """A step along the mean gradient over the decaying maximum of its magnitudes.

    Shape: the variable's; all but var, m, v and grad are scalars. Source: Kingma and Ba, 2015,
    section 7.1.
    """,
    keeps_nothing=True,
)
apply_adagrad_v2, sparse_apply_adagrad_v2 = _update_ops(
    "AdagradV2",
    "var accum",
    "lr epsilon grad",
    """As ApplyAdagrad, with ``epsilon`` added to the root. Shape: the variable's; the others are scalars.""",
    "update_slots: bool = True",
    keeps_nothing=True,
)
apply_keras_momentum, sparse_apply_keras_momentum = _update_ops(
    "KerasMomentum",
    "var accum",
    "lr grad momentum",
    """``accum = momentum * accum - lr * grad; var += accum``, or Nesterov's form of it.

    Shape: the variable's; lr and momentum are scalars.
    """,
    "use_nesterov: bool = False",
    resource_only=True,
    keeps_nothing=True,
)
apply_adam_with_amsgrad = _update_op(
    "ApplyAdamWithAmsgrad",
    "var m v vhat",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    """As ApplyAdam, over the root of the largest mean square so far.

    Shape: the variable's; the numbers are scalars. Source: Reddi, Kale and Kumar, 2018.
    """,
    resource_only=True,
    keeps_nothing=True,
)
