"""The rules of optimizers: how each changes a variable and its slots, in place.

A rule is called as ``rule(xp, scratch, *arrays, grad, *scalars)``: the variable, its slots and the gradient
are arrays of the same shape, ``scratch`` two more for intermediate results. `optimizer_updates` applies
rules block by block, to rows, and as loops in machine code, so a rule is made of ufuncs with ``out``.
"""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module


def gradient_descent(xp: Module, scratch: Any, var: Array, grad: Array, alpha: Any) -> None:
    a = scratch[0]
    xp.multiply(grad, alpha, out=a)
    xp.subtract(var, a, out=var)


def _shrink(xp: Module, var: Any, scratch: Any, threshold: Any, scale: Any) -> None:
    """``var = sign(var) * max(|var| - threshold, 0) / scale``."""
    xp.abs(var, out=scratch)
    xp.subtract(scratch, threshold, out=scratch)
    xp.maximum(scratch, 0, out=scratch)
    xp.copysign(scratch, var, out=var)
    xp.divide(var, scale, out=var)


def proximal_gradient_descent(
    xp: Module, scratch: Any, var: Array, grad: Array, alpha: Array, l1: Array, l2: Any
) -> None:
    gradient_descent(xp, scratch, var, grad, alpha)
    _shrink(xp, var, scratch[0], alpha * l1, 1 + l2 * alpha)


def momentum(
    xp: Any, scratch: Any, var: Any, accum: Any, grad: Any, lr: Any, momentum: Any, nesterov: bool
) -> None:
    a, b = scratch
    xp.multiply(accum, momentum, out=accum)
    xp.add(accum, grad, out=accum)
    if nesterov:
        xp.multiply(grad, lr, out=a)
        xp.multiply(accum, momentum * lr, out=b)
        xp.add(a, b, out=a)
    else:
        xp.multiply(accum, lr, out=a)
    xp.subtract(var, a, out=var)


def adagrad(
    xp: Module, scratch: Any, var: Any, accum: Array, grad: Array, lr: Any, update_slots: bool
) -> None:
    a, b = scratch
    if update_slots:
        xp.multiply(grad, grad, out=a)
        xp.add(accum, a, out=accum)
    xp.multiply(grad, lr, out=a)
    xp.sqrt(accum, out=b)
    xp.divide(a, b, out=a)
    xp.subtract(var, a, out=var)


def proximal_adagrad(
    xp: Module, scratch: Any, var: Any, accum: Array, grad: Array, lr: Array, l1: Array, l2: Any
) -> None:
    a, b = scratch
    xp.multiply(grad, grad, out=a)
    xp.add(accum, a, out=accum)
    xp.sqrt(accum, out=b)
    xp.divide(lr, b, out=b)  # the step length of each element
    xp.multiply(grad, b, out=a)
    xp.subtract(var, a, out=var)
    xp.abs(var, out=a)
    a -= b * l1
    xp.maximum(a, 0, out=a)
    xp.copysign(a, var, out=var)
    xp.multiply(b, l2, out=b)
    xp.add(b, 1, out=b)
    xp.divide(var, b, out=var)


def adagrad_da(
    xp: Module,
    scratch: Any,
    var: Any,
    total: Any,
    squares: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    step: Any,
) -> None:
    a, b = scratch
    xp.add(total, grad, out=total)
    xp.multiply(grad, grad, out=a)
    xp.add(squares, a, out=squares)
    xp.sqrt(squares, out=b)
    xp.add(b, l2 * step * lr, out=b)
    xp.abs(total, out=a)
    xp.subtract(a, l1 * step, out=a)
    xp.maximum(a, 0, out=a)
    xp.copysign(a, total, out=a)
    xp.multiply(a, 0 - lr, out=a)
    xp.divide(a, b, out=var)


def adadelta(
    xp: Module,
    scratch: Any,
    var: Any,
    accum: Any,
    accum_update: Array,
    grad: Array,
    lr: Array,
    rho: Array,
    epsilon: Any,
) -> None:
    a, b = scratch
    xp.multiply(accum, rho, out=accum)
    xp.multiply(grad, grad, out=a)
    xp.multiply(a, 1 - rho, out=a)
    xp.add(accum, a, out=accum)
    xp.add(accum_update, epsilon, out=a)
    xp.add(accum, epsilon, out=b)
    xp.sqrt(a, out=a)
    xp.sqrt(b, out=b)
    xp.divide(a, b, out=a)
    xp.multiply(a, grad, out=a)
    xp.multiply(a, lr, out=b)
    xp.subtract(var, b, out=var)
    xp.multiply(accum_update, rho, out=accum_update)
    xp.multiply(a, a, out=a)
    xp.multiply(a, 1 - rho, out=a)
    xp.add(accum_update, a, out=accum_update)


def _move_mean(xp: Module, scratch: Any, mean: Any, value: Any, rate: Any) -> None:
    """``mean += (value - mean) * rate``."""
    xp.subtract(value, mean, out=scratch)
    xp.multiply(scratch, rate, out=scratch)
    xp.add(mean, scratch, out=mean)


def _rms_prop_step(
    xp: Module, scratch: Any, var: Any, mom: Any, grad: Array, lr: Any, momentum: Any
) -> None:
    """``mom = momentum * mom + lr * grad / sqrt(b); var -= mom`` with b in the second scratch."""
    a, b = scratch
    xp.sqrt(b, out=b)
    xp.multiply(grad, lr, out=a)
    xp.divide(a, b, out=a)
    xp.multiply(mom, momentum, out=mom)
    xp.add(mom, a, out=mom)
    xp.subtract(var, mom, out=var)


def rms_prop(
    xp: Module,
    scratch: Any,
    var: Any,
    ms: Any,
    mom: Array,
    grad: Array,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Any,
) -> None:
    a, b = scratch
    xp.multiply(grad, grad, out=a)
    _move_mean(xp, b, ms, a, 1 - rho)
    xp.add(ms, epsilon, out=b)
    _rms_prop_step(xp, scratch, var, mom, grad, lr, momentum)


def centered_rms_prop(
    xp: Module,
    scratch: Any,
    var: Any,
    mg: Any,
    ms: Any,
    mom: Array,
    grad: Array,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Any,
) -> None:
    a, b = scratch
    xp.multiply(grad, grad, out=a)
    _move_mean(xp, b, ms, a, 1 - rho)
    _move_mean(xp, b, mg, grad, 1 - rho)
    xp.multiply(mg, mg, out=b)
    xp.subtract(ms, b, out=b)
    xp.add(b, epsilon, out=b)
    _rms_prop_step(xp, scratch, var, mom, grad, lr, momentum)


def adam(
    xp: Module,
    scratch: Any,
    var: Any,
    m: Any,
    v: Array,
    grad: Array,
    alpha: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    nesterov: bool,
) -> None:
    a, b = scratch
    _move_mean(xp, a, m, grad, 1 - beta1)
    xp.multiply(grad, grad, out=a)
    _move_mean(xp, b, v, a, 1 - beta2)
    xp.sqrt(v, out=a)
    xp.add(a, epsilon, out=a)
    if nesterov:
        xp.multiply(m, beta1, out=b)
        b += grad * (1 - beta1)
        xp.divide(b, a, out=a)
    else:
        xp.divide(m, a, out=a)
    xp.multiply(a, alpha, out=a)
    xp.subtract(var, a, out=var)


def adam_by_powers(
    xp: Module,
    scratch: Any,
    var: Any,
    m: Any,
    v: Any,
    grad: Array,
    lr: Any,
    beta1_power: Any,
    beta2_power: Any,
    *rest: Any,
) -> None:
    """`adam` with its step size, all in one loop."""
    alpha = lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)
    adam(xp, scratch, var, m, v, grad, alpha, *rest)


def ftrl(
    xp: Module,
    scratch: Any,
    var: Any,
    accum: Any,
    linear: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    lr_power: Any,
    l2_shrinkage: Any,
    multiply_linear_by_lr: bool,
    by_root: bool,
) -> None:
    """Algorithm 1 of the paper; with ``multiply_linear_by_lr``, linear and l1 are scaled by lr.

    ``by_root``: the power is known to be -0.5, so square roots do.
    """
    a, b = scratch
    scale = lr if multiply_linear_by_lr else lr * 0 + 1  # of what is linear
    divisor = lr * 0 + 1 if multiply_linear_by_lr else lr

    def power(x: Array, out: Any) -> None:
        if by_root:
            xp.sqrt(x, out=out)
        else:
            xp.power(x, 0 - lr_power, out=out)

    power(accum, a)
    xp.multiply(grad, grad, out=b)
    xp.add(accum, b, out=accum)
    power(accum, b)
    xp.subtract(b, a, out=a)
    xp.divide(a, divisor, out=a)
    xp.multiply(a, var, out=a)
    if l2_shrinkage is None and not multiply_linear_by_lr:
        # The difference first, as TensorFlow does: in float16 the order decides about the result.
        xp.subtract(grad, a, out=a)
    else:
        xp.subtract(linear, a, out=linear)
        if l2_shrinkage is not None:
            xp.multiply(var, 2 * l2_shrinkage, out=a)
            xp.add(a, grad, out=a)
            xp.multiply(a, scale, out=a)
        else:
            xp.multiply(grad, scale, out=a)
    xp.add(linear, a, out=linear)
    xp.divide(b, divisor, out=b)
    xp.add(b, 2 * l2 * scale, out=b)  # the curvature
    xp.abs(linear, out=a)
    xp.subtract(a, l1 * scale, out=a)
    xp.maximum(a, 0, out=a)
    xp.divide(a, b, out=a)
    xp.copysign(a, linear, out=var)
    xp.subtract(0, var, out=var)  # unlike negation, 0 stays +0


def ada_max(
    xp: Module,
    scratch: Any,
    var: Any,
    m: Any,
    v: Any,
    grad: Array,
    beta1_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
) -> None:
    a, b = scratch
    _move_mean(xp, a, m, grad, 1 - beta1)
    xp.multiply(v, beta2, out=a)
    xp.abs(grad, out=b)
    xp.maximum(a, b, out=v)
    xp.add(v, epsilon, out=b)
    xp.divide(m, b, out=a)
    xp.multiply(a, lr / (1 - beta1_power), out=a)
    xp.subtract(var, a, out=var)


def adagrad_v2(
    xp: Module,
    scratch: Any,
    var: Any,
    accum: Array,
    grad: Array,
    lr: Any,
    epsilon: Any,
    update_slots: bool,
) -> None:
    a, b = scratch
    if update_slots:
        xp.multiply(grad, grad, out=a)
        xp.add(accum, a, out=accum)
    xp.multiply(grad, lr, out=a)
    xp.sqrt(accum, out=b)
    xp.add(b, epsilon, out=b)
    xp.divide(a, b, out=a)
    xp.subtract(var, a, out=var)


def keras_momentum(
    xp: Any, scratch: Any, var: Any, accum: Any, grad: Any, lr: Any, momentum: Any, nesterov: bool
) -> None:
    a, b = scratch
    xp.multiply(accum, momentum, out=accum)
    xp.multiply(grad, lr, out=a)
    xp.subtract(accum, a, out=accum)
    if nesterov:
        xp.multiply(accum, momentum, out=b)
        xp.subtract(b, a, out=a)
        xp.add(var, a, out=var)
    else:
        xp.add(var, accum, out=var)


def adam_with_amsgrad(
    xp: Module,
    scratch: Any,
    var: Any,
    m: Any,
    v: Any,
    largest: Any,
    grad: Array,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
) -> None:
    a, b = scratch
    _move_mean(xp, a, m, grad, 1 - beta1)
    xp.multiply(grad, grad, out=a)
    _move_mean(xp, b, v, a, 1 - beta2)
    xp.maximum(largest, v, out=largest)
    xp.sqrt(largest, out=a)
    xp.add(a, epsilon, out=a)
    xp.divide(m, a, out=a)
    xp.multiply(a, lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power), out=a)
    xp.subtract(var, a, out=var)
