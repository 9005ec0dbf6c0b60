"""Samples of the optimizers' ops: one step from known slots, against the formula in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

START = np.array([[0.5, -1.0], [2.0, 0.0], [-3.0, 1.5]], np.float32)
GRAD = np.array([[0.1, -0.2], [1.5, 0.3], [-0.4, 2.0]], np.float32)
ROW_GRAD = np.array([[0.3, -0.6], [1.0, 0.2], [-0.5, 0.4]], np.float32)
ROWS = np.array([2, 0, 2], np.int32)


def initialize(tf: Any, session: Any) -> None:
    session.run(tf.global_variables_initializer())


def variable(tf: Any, op: str, start: Any) -> Any:
    """The variable that ``op`` is to change, of its kind."""
    return tf.Variable(start, use_resource=op.startswith("Resource"))


def result(tf: Any, optimizer: Any, pair: Any, slots: tuple[str, ...]) -> list[Any]:
    variable = pair[1]
    train = optimizer.apply_gradients([pair])
    with tf.control_dependencies([train]):
        values = [variable.read_value()]
        return values + [optimizer.get_slot(variable, name).read_value() for name in slots]


def dense(
    op: str,
    make: Any,
    expected: Any,
    slots: tuple[str, ...] = (),
    note: str = "",
) -> Sample:
    def build(tf: Any, start: Any, grad: Any) -> list[Any]:
        return result(tf, make(tf), (grad, variable(tf, op, start)), slots)

    return Sample(
        op, build, (START, GRAD), expected, gradient=(), setup=initialize, note=note, rtol=2e-5
    )


def sparse(
    op: str, make: Any, expected: Any, slots: tuple[str, ...] = (), note: str = ""
) -> Sample:
    """The same formula on the rows, those of row 2 summed; the other rows stay."""

    def build(tf: Any, start: Any, grad: Any, rows: Any) -> list[Any]:
        slices = tf.IndexedSlices(grad, rows, tf.constant([3, 2]))
        return result(tf, make(tf), (slices, variable(tf, op, start)), slots)

    def on_rows(start: Any, grad: Any, rows: Any) -> list[Any]:
        total = np.zeros_like(start)
        np.add.at(total, rows, grad)
        touched = np.isin(np.arange(3), rows)[:, None]
        unchanged = expected(start, total, True)
        return [
            np.where(touched, new, old)
            for new, old in zip(expected(start, total), unchanged, strict=True)
        ]

    inputs = (START, ROW_GRAD, ROWS)
    return Sample(op, build, inputs, on_rows, gradient=(), setup=initialize, note=note, rtol=2e-5)


# Each formula: (variable, gradient) -> [variable, slots...]; `before` gives the state before it.


def gradient_descent(x: Any, g: Any) -> list[Any]:
    return [x - 0.5 * g]


def shrink(x: Any, threshold: Any, scale: Any) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0) / scale


def proximal_gradient_descent(x: Any, g: Any, before: bool = False) -> list[Any]:
    return [x] if before else [shrink(x - 0.5 * g, 0.5 * 0.1, 1 + 0.2 * 0.5)]


def momentum(x: Any, g: Any, before: bool = False) -> list[Any]:
    return [x, 0 * g] if before else [x - 0.5 * g, g]


def nesterov(x: Any, g: Any, before: bool = False) -> list[Any]:
    return [x, 0 * g] if before else [x - 0.5 * (g + 0.9 * g), g]


def adagrad(x: Any, g: Any, before: bool = False) -> list[Any]:
    accum = 0.1 + g * g
    return [x, 0 * g + 0.1] if before else [x - 0.5 * g / np.sqrt(accum), accum]


def proximal_adagrad(x: Any, g: Any, before: bool = False) -> list[Any]:
    if before:
        return [x, 0 * g + 0.1]
    accum = 0.1 + g * g
    rate = 0.5 / np.sqrt(accum)
    return [shrink(x - rate * g, rate * 0.1, 1 + 0.2 * rate), accum]


def adagrad_da(x: Any, g: Any, before: bool = False) -> list[Any]:
    if before:
        return [x, 0 * g, 0 * g + 0.1]
    squares = 0.1 + g * g
    numerator = -0.5 * np.sign(g) * np.maximum(np.abs(g) - 0.1, 0)
    return [numerator / (0.2 * 0.5 + np.sqrt(squares)), g, squares]


def adadelta(x: Any, g: Any, before: bool = False) -> list[Any]:
    if before:
        return [x, 0 * g, 0 * g]
    accum = 0.1 * g * g
    update = np.sqrt(0.01) / np.sqrt(accum + 0.01) * g
    return [x - 0.5 * update, accum, 0.1 * update**2]


def rms_prop(x: Any, g: Any, before: bool = False) -> list[Any]:
    if before:
        return [x, 0 * g + 1, 0 * g]
    rms = 0.9 + 0.1 * g * g
    step = 0.5 * g / np.sqrt(rms + 0.01)
    return [x - step, rms, step]


def centered_rms_prop(x: Any, g: Any, before: bool = False) -> list[Any]:
    if before:
        return [x, 0 * g, 0 * g + 1, 0 * g]
    rms, mean = 0.9 + 0.1 * g * g, 0.1 * g
    step = 0.5 * g / np.sqrt(rms - mean**2 + 0.01)
    return [x - step, mean, rms, step]


def adam(x: Any, g: Any) -> list[Any]:
    m, v = 0.1 * g, 0.001 * g * g
    alpha = 0.5 * np.sqrt(1 - 0.999) / (1 - 0.9)
    return [x - alpha * m / (np.sqrt(v) + 1e-3), m, v]


def ftrl(shrinkage: float = 0.0, power: float = -0.5) -> Any:
    def formula(x: Any, g: Any, before: bool = False) -> list[Any]:
        if before:
            return [x, 0 * g + 0.1, 0 * g]
        accum = 0.1 + g * g
        sigma = (accum**-power - 0.1**-power) / 0.5
        linear = g + 2 * shrinkage * x - sigma * x
        curvature = accum**-power / 0.5 + 2 * 0.2
        new = (np.sign(linear) * 0.1 - linear) / curvature
        return [np.where(np.abs(linear) > 0.1, new, 0), accum, linear]

    return formula


REGULARIZED = {"l1_regularization_strength": 0.1, "l2_regularization_strength": 0.2}


def global_step(tf: Any) -> Any:
    return tf.Variable(0, dtype=tf.int64, trainable=False)


MAKERS: dict[str, Any] = {
    "sgd": lambda tf: tf.train.GradientDescentOptimizer(0.5),
    "proximal_sgd": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.5, **REGULARIZED),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.5, 0.9),
    "nesterov": lambda tf: tf.train.MomentumOptimizer(0.5, 0.9, use_nesterov=True),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.5),
    "proximal_adagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.5, **REGULARIZED),
    "adagrad_da": lambda tf: tf.train.AdagradDAOptimizer(0.5, global_step(tf), **REGULARIZED),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(0.5, rho=0.9, epsilon=0.01),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.5, momentum=0.3, epsilon=0.01),
    "centered": lambda tf: tf.train.RMSPropOptimizer(0.5, epsilon=0.01, centered=True),
    "adam": lambda tf: tf.train.AdamOptimizer(0.5, epsilon=1e-3),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.5, **REGULARIZED),
    "ftrl_power": lambda tf: tf.train.FtrlOptimizer(0.5, learning_rate_power=-0.7, **REGULARIZED),
    "ftrl_v2": lambda tf: tf.train.FtrlOptimizer(
        0.5, l2_shrinkage_regularization_strength=0.3, **REGULARIZED
    ),
}
DA_SLOTS = ("gradient_accumulator", "gradient_squared_accumulator")
FTRL_SLOTS = ("accum", "linear")

#: Op without "Apply", formula, maker, slots.
BOTH: list[tuple[str, Any, str, tuple[str, ...]]] = [
    ("ProximalGradientDescent", proximal_gradient_descent, "proximal_sgd", ()),
    ("Momentum", momentum, "momentum", ("momentum",)),
    ("Momentum", nesterov, "nesterov", ("momentum",)),
    ("Adagrad", adagrad, "adagrad", ("accumulator",)),
    ("ProximalAdagrad", proximal_adagrad, "proximal_adagrad", ("accumulator",)),
    ("AdagradDA", adagrad_da, "adagrad_da", DA_SLOTS),
    ("Adadelta", adadelta, "adadelta", ("accum", "accum_update")),
    ("RMSProp", rms_prop, "rmsprop", ("rms", "momentum")),
    ("CenteredRMSProp", centered_rms_prop, "centered", ("mg", "rms", "momentum")),
    ("Ftrl", ftrl(), "ftrl", FTRL_SLOTS),
    ("Ftrl", ftrl(power=-0.7), "ftrl_power", FTRL_SLOTS),
    ("FtrlV2", ftrl(0.3), "ftrl_v2", FTRL_SLOTS),
]


def keras(op: str, formula: Any, slots: int, scalars: dict[str, Any], **attrs: Any) -> Sample:
    """One step of an op that only Keras's optimizers and graphs of TensorFlow have."""
    names = {"AdaMax": ("m", "v"), "AdamWithAmsgrad": ("m", "v", "vhat")}
    refs = ("var", *names.get(op.split("Apply")[1], ("accum",)))
    with_rows = "Sparse" in op

    def build(tf: Any, start: Any, grad: Any, *rows: Any) -> list[Any]:
        values = [start] + [start * start + 0.5 for _ in range(slots)]
        variables = [variable(tf, op, v) for v in values]
        handles = [v.handle if op.startswith("Resource") else v._ref() for v in variables]
        by_name = dict(zip(refs, handles, strict=True))
        more = {"indices": rows[0]} if rows else {}
        with tf.control_dependencies([v.initializer for v in variables]):
            step = raw(tf, op, **by_name, grad=grad, **more, **scalars, **attrs)
        with tf.control_dependencies([step]):
            return [v.read_value() for v in variables]

    def expected(start: Any, grad: Any, *rows: Any) -> list[Any]:
        old = [start] + [start * start + 0.5 for _ in range(slots)]
        if not rows:
            return formula(*old, grad)
        new = [v.copy() for v in old]
        for row, slope in zip(rows[0], grad, strict=True):
            for v, changed in zip(new, formula(*[v[row] for v in new], slope), strict=True):
                v[row] = changed
        return new

    inputs = (START, ROW_GRAD, ROWS) if with_rows else (START, GRAD)
    note = "nesterov" if attrs.get("use_nesterov") else ""
    return Sample(op, build, inputs, expected, gradient=(), rtol=2e-5, note=note)


def ada_max(x: Any, m: Any, v: Any, g: Any) -> list[Any]:
    m, v = 0.9 * m + 0.1 * g, np.maximum(0.99 * v, np.abs(g))
    return [x - 0.5 / (1 - 0.81) * m / (v + 0.01), m, v]


def adagrad_v2(x: Any, accum: Any, g: Any) -> list[Any]:
    accum = accum + g * g
    return [x - 0.5 * g / (np.sqrt(accum) + 0.01), accum]


def keras_momentum(nesterov: bool) -> Any:
    def formula(x: Any, accum: Any, g: Any) -> list[Any]:
        accum = 0.9 * accum - 0.5 * g
        return [x + (0.9 * accum - 0.5 * g if nesterov else accum), accum]

    return formula


def amsgrad(x: Any, m: Any, v: Any, largest: Any, g: Any) -> list[Any]:
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    largest = np.maximum(largest, v)
    rate = 0.5 * np.sqrt(1 - 0.9801) / (1 - 0.81)
    return [x - rate * m / (np.sqrt(largest) + 0.01), m, v, largest]


BETAS = {"beta1_power": 0.81, "lr": 0.5, "beta1": 0.9, "beta2": 0.99, "epsilon": 0.01}
KERAS = [
    keras("ApplyAdaMax", ada_max, 2, BETAS),
    keras("ResourceApplyAdaMax", ada_max, 2, BETAS),
    keras("ApplyAdagradV2", adagrad_v2, 1, {"lr": 0.5, "epsilon": 0.01}),
    keras("SparseApplyAdagradV2", adagrad_v2, 1, {"lr": 0.5, "epsilon": 0.01}),
    keras("ResourceApplyAdamWithAmsgrad", amsgrad, 3, {**BETAS, "beta2_power": 0.9801}),
]
for kind in ("ResourceApply", "ResourceSparseApply"):
    KERAS.append(keras(f"{kind}AdagradV2", adagrad_v2, 1, {"lr": 0.5, "epsilon": 0.01}))
    KERAS += [
        keras(
            f"{kind}KerasMomentum",
            keras_momentum(nesterov),
            1,
            {"lr": 0.5, "momentum": 0.9},
            use_nesterov=nesterov,
        )
        for nesterov in (False, True)
    ]

SAMPLES = KERAS + [
    sample
    for kind in ("", "Resource")
    for sample in (
        dense(f"{kind}ApplyGradientDescent", MAKERS["sgd"], gradient_descent),
        dense(f"{kind}ApplyAdam", MAKERS["adam"], adam, ("m", "v")),
        *[dense(f"{kind}Apply{op}", MAKERS[key], f, s, key) for op, f, key, s in BOTH],
        *[sparse(f"{kind}SparseApply{op}", MAKERS[key], f, s, key) for op, f, key, s in BOTH],
    )
]
