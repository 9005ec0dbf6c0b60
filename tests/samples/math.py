"""Samples of arithmetic, comparison, elementary, special, complex and quantizing ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

#: A sample of a function in single precision with larger errors.
Rough = functools.partial(Sample, rtol=1e-4, atol=1e-5)

_rng = np.random.default_rng(11)


def _array(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


def _positive(*shape: int) -> Any:
    return (_rng.random(shape) * 2 + 0.3).astype(np.float32)


A, B = _array(2, 3), _array(2, 3)
ROW, COLUMN = _array(3), _array(2, 1)
P, Q = _positive(2, 3), _positive(3)
EMPTY = np.zeros((0, 3), np.float32)
I, J = np.array([[7, -7, 5], [-5, 0, 9]], np.int32), np.array([2, 2, -3], np.int32)
_BITS = np.array(
    [[1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0] + [1] * 9], bool
)
C = (_array(2, 2) + 1j * _array(2, 2)).astype(np.complex64)
D = (_array(2, 2) + 1j * _array(2, 2)).astype(np.complex64)
FALSE_TRUE = np.array([False, True, False, True])
BOTH = np.array([False, False, True, True])


def _public(name: str) -> Callable[..., Any]:
    """``tf.name`` or ``tf.a.name`` called with the inputs."""

    def build(tf: Any, *inputs: Any) -> Any:
        function = tf
        for part in name.split("."):
            function = getattr(function, part)
        return function(*inputs)

    return build


def _binary(op: str, name: str, expected: Any, x: Any = A, y: Any = B, **kwargs: Any) -> Sample:
    return Sample(op, _public(name), (x, y), expected, **kwargs)


ARITHMETIC = [
    _binary("Add", "add", np.add),
    _binary("Add", "add", np.add, A, ROW, note="row"),
    _binary("Add", "add", np.add, COLUMN, ROW, note="outer"),
    _binary("Add", "add", np.add, EMPTY, ROW, note="empty"),
    _binary("Add", "add", np.add, I, J, note="integers"),
    Sample("AddV2", lambda tf, x: x + 1, (A,), lambda x: x + 1, note="operator"),
    Sample("AddV2", lambda tf, x: 1 + x, (A,), lambda x: x + 1, note="reflected"),
    Sample(
        "Add",
        lambda tf, x, y: tf.add(x, y),
        (np.array([b"a", b"b"], object), np.array([b"c", b"d"], object)),
        np.array([b"ac", b"bd"], object),
        note="strings",
    ),
    Sample("Add", lambda tf, x, y: raw(tf, "Add", x=x, y=y), (A, COLUMN), np.add),
    _binary("Sub", "subtract", np.subtract, A, COLUMN),
    Sample("Sub", lambda tf, x: 1.0 - x, (A,), lambda x: 1 - x, note="reflected"),
    _binary("Mul", "multiply", np.multiply, A, ROW),
    Sample("Mul", lambda tf, x: 2 * x * x, (A,), lambda x: 2 * x * x, note="operator"),
    _binary("Mul", "multiply", np.multiply, C, D, note="complex"),
    _binary("RealDiv", "truediv", np.true_divide, A, Q),
    _binary("RealDiv", "divide", lambda x, y: x / y, I, J, note="integers"),
    _binary("RealDiv", "div", np.true_divide, A, P, note="div"),
    _binary("RealDiv", "realdiv", np.true_divide, C, D, note="complex"),
    Sample("Div", lambda tf, x, y: raw(tf, "Div", x=x, y=y), (A, Q), np.true_divide),
    Sample(
        "Div",
        lambda tf, x, y: raw(tf, "Div", x=x, y=y),
        (I, J),
        lambda x, y: np.trunc(x / y).astype(np.int32),
        note="integers",
    ),
    _binary("FloorDiv", "floordiv", np.floor_divide, I, J),
    Sample("FloorDiv", lambda tf, x, y: x // y, (A, P), lambda x, y: np.floor(x / y), gradient=()),
    _binary("TruncateDiv", "truncatediv", lambda x, y: np.trunc(x / y).astype(np.int32), I, J),
    _binary("FloorMod", "floormod", np.mod, I, J),
    _binary("FloorMod", "mod", np.mod, A * 5, Q, note="floats", gradient_tolerance=1e-3),
    _binary("TruncateMod", "truncatemod", np.fmod, I, J),
    Sample("Mod", lambda tf, x, y: raw(tf, "Mod", x=x, y=y), (I, J), np.fmod),
    _binary(
        "DivNoNan",
        "div_no_nan",
        np.array([[0, 2, 0]], np.float32),
        np.array([[1, 4, 0]], np.float32),
        np.array([[0, 2, 5]], np.float32),
        gradient=(0,),
    ),
    _binary(
        "MulNoNan",
        "math.multiply_no_nan",
        np.array([0, 8], np.float32),
        np.array([np.inf, 4], np.float32),
        np.array([0, 2], np.float32),
        gradient=(),
    ),
    _binary("MulNoNan", "math.multiply_no_nan", np.multiply, A, P, note="finite"),
    _binary("Pow", "pow", np.power, P, ROW),
    Sample("Pow", lambda tf, x: x**2, (A,), lambda x: x**2, note="square"),
    Sample("Pow", lambda tf, x: x**3, (A,), lambda x: x**3, note="cube"),
    Sample("Pow", lambda tf, x: x**4, (A,), lambda x: x**4, note="fourth"),
    Sample("Pow", lambda tf, x: 2.0**x, (A,), lambda x: 2**x, note="reflected"),
    _binary("Pow", "pow", np.power, np.abs(I), np.abs(J), note="integers"),
    _binary("Maximum", "maximum", np.maximum, A, ROW),
    _binary("Minimum", "minimum", np.minimum, A, COLUMN),
    _binary("SquaredDifference", "squared_difference", lambda x, y: (x - y) ** 2, A, ROW),
    _binary("Atan2", "atan2", np.arctan2, A, P),
    Sample("AddN", lambda tf, *x: tf.add_n(list(x)), (A, B, P), lambda *x: sum(x)),
    Sample(
        "AccumulateNV2",
        lambda tf, *x: raw(tf, "AccumulateNV2", inputs=list(x), shape=[2, 3]),
        (A, B),
        np.add,
    ),
    Sample("AddN", lambda tf, *x: tf.accumulate_n(list(x)), (A, B), np.add, note="accumulate_n"),
    Sample("Cast", lambda tf, x: tf.cast(x, tf.float64), (A,), lambda x: x.astype(np.float64)),
    Sample(
        "Cast", lambda tf, x: tf.to_int32(x), (A * 5,), lambda x: x.astype(np.int32), (), note="int"
    ),
    Sample("Cast", lambda tf, x: tf.cast(x, tf.bool), (I,), lambda x: x != 0, note="bool"),
    Sample(
        "Cast",
        lambda tf, x: tf.cast(tf.cast(x, tf.complex64), tf.float32),
        (A,),
        lambda x: x,
        note="complex",
        second=False,
        gradient=(),
    ),
    Sample(
        "Cast",
        lambda tf, x: tf.saturate_cast(x, tf.uint8),
        (np.array([-5.0, 3.7, 300.0], np.float32),),
        np.array([0, 3, 255], np.uint8),
        (),
        note="saturate",
    ),
    Sample(
        "Mul",
        lambda tf, x: tf.math.polyval([1.0, 2.0, 3.0], x),
        (A,),
        lambda x: x * x + 2 * x + 3,
        note="polyval",
    ),
    Sample("Mul", lambda tf, x: tf.scalar_mul(3.0, x), (A,), lambda x: 3 * x, note="scalar_mul"),
]

COMPARISON = [
    *(
        _binary(op, name, function, I, J)
        for op, name, function in (
            ("Less", "less", np.less),
            ("LessEqual", "less_equal", np.less_equal),
            ("Greater", "greater", np.greater),
            ("GreaterEqual", "greater_equal", np.greater_equal),
            ("Equal", "equal", np.equal),
            ("NotEqual", "not_equal", np.not_equal),
        )
    ),
    Sample(
        "Equal",
        lambda tf, x: tf.equal(x, b"a"),
        (np.array([b"a", b"b"], object),),
        np.array([True, False]),
        note="strings",
    ),
    Sample(
        "ApproximateEqual",
        lambda tf, x, y: raw(tf, "ApproximateEqual", x=x, y=y, tolerance=0.1),
        (np.array([1.0, 2.0], np.float32), np.array([1.05, 2.2], np.float32)),
        np.array([True, False]),
        (),
    ),
    *(
        Sample(
            "CompareAndBitpack",
            lambda tf, x, y: raw(tf, "CompareAndBitpack", input=x, threshold=y),
            (values, threshold),
            np.array([[0b10110000, 0], [0b1, 0b11111111]], np.uint8),
            (),
            note=values.dtype.name,
            oracle=False,  # 2.15's raw_ops are without it
        )
        for values, threshold in (
            (_BITS.astype(np.float32) - 0.5, np.float32(0)),
            (_BITS.astype(np.int64) + 6, np.int64(6)),
            (_BITS, np.False_),
        )
    ),
    _binary("LogicalAnd", "logical_and", np.logical_and, FALSE_TRUE, BOTH),
    _binary("LogicalOr", "logical_or", np.logical_or, FALSE_TRUE, BOTH),
    _binary("LogicalAnd", "logical_xor", np.logical_xor, FALSE_TRUE, BOTH, note="xor"),
    Sample("LogicalNot", lambda tf, x: ~x, (BOTH,), np.logical_not),
    Sample("LogicalOr", lambda tf, x, y: x | y, (FALSE_TRUE, BOTH), np.logical_or, note="|"),
    Sample("LogicalAnd", lambda tf, x, y: x & y, (FALSE_TRUE, BOTH), np.logical_and, note="&"),
    *(
        Sample(
            op,
            _public(name),
            (np.array([1.0, np.nan, np.inf, -np.inf], np.float32),),
            function,
            (),
        )
        for op, name, function in (
            ("IsNan", "is_nan", np.isnan),
            ("IsInf", "is_inf", np.isinf),
            ("IsFinite", "is_finite", np.isfinite),
        )
    ),
    _binary("BitwiseAnd", "bitwise.bitwise_and", np.bitwise_and, I, J),
    _binary("BitwiseOr", "bitwise.bitwise_or", np.bitwise_or, I, J),
    _binary("BitwiseXor", "bitwise.bitwise_xor", np.bitwise_xor, I, J),
    Sample("BitwiseXor", lambda tf, x, y: x ^ y, (I, J), np.bitwise_xor, note="operator"),
    _binary("LeftShift", "bitwise.left_shift", np.left_shift, I, np.abs(J)),
    _binary("RightShift", "bitwise.right_shift", np.right_shift, I, np.abs(J)),
    Sample("Invert", _public("bitwise.invert"), (I,), np.invert),
    Sample(
        "PopulationCount",
        lambda tf, x: raw(tf, "PopulationCount", x=x),
        (I,),
        lambda x: np.bitwise_count(x.view(np.uint32)),
    ),
]


def _unary(op: str, function: Any, x: Any = A, name: str | None = None, **kwargs: Any) -> Sample:
    return Sample(op, _public(name or op.lower()), (x,), function, **kwargs)


UNIT = (A / (np.abs(A).max() + 0.2)).astype(np.float32)
ELEMENTARY = [
    _unary("Exp", np.exp),
    _unary("Expm1", np.expm1),
    _unary("Log", np.log, P),
    _unary("Log1p", np.log1p, P),
    _unary("Square", np.square),
    _unary("Square", np.square, I, note="integers"),
    _unary("Sqrt", np.sqrt, P),
    _unary("Rsqrt", lambda x: 1 / np.sqrt(x), P),
    _unary("Reciprocal", np.reciprocal, P),
    Sample("Inv", lambda tf, x: raw(tf, "Inv", x=x), (P,), np.reciprocal),
    _unary("Neg", np.negative, name="negative"),
    _unary("Sign", np.sign, gradient=()),
    _unary("Sign", lambda x: x / np.abs(x), C, note="complex"),
    _unary("Sin", np.sin),
    _unary("Cos", np.cos),
    _unary("Tan", np.tan, UNIT),
    _unary("Asin", np.arcsin, UNIT),
    _unary("Acos", np.arccos, UNIT),
    _unary("Atan", np.arctan),
    _unary("Sinh", np.sinh),
    _unary("Cosh", np.cosh),
    _unary("Tanh", np.tanh),
    _unary("Asinh", np.arcsinh),
    _unary("Acosh", np.arccosh, P + 1),
    _unary("Atanh", np.arctanh, UNIT),
    _unary("Sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    _unary(
        "Sigmoid",
        np.array([0.0, 0.5, 1.0], np.float32),
        np.array([-2e2, 0, 2e2], np.float32),
        note="far",
        gradient=(),
    ),
    _unary("Abs", np.abs),
    _unary("Abs", np.abs, I, note="integers"),
    _unary("ComplexAbs", np.abs, C, name="abs"),
    _unary("Floor", np.floor, A * 3, gradient=()),
    _unary("Ceil", np.ceil, A * 3, gradient=()),
    _unary("Rint", np.rint, np.array([0.5, 1.5, 2.5, -0.5], np.float32), gradient=()),
    _unary("Round", np.rint, np.array([0.5, 1.5, 2.5, -0.5], np.float32), gradient=()),
    Sample("Neg", _public("log_sigmoid"), (A,), lambda x: -np.logaddexp(0, -x), note="log_sigmoid"),
    *(
        Sample(
            f"{op}Grad",
            lambda tf, y, dy, op=op: raw(tf, f"{op}Grad", y=y, dy=dy),
            (P, A),
            function,
        )
        for op, function in (
            ("Sqrt", lambda y, dy: dy / (2 * y)),
            ("Rsqrt", lambda y, dy: -dy * y**3 / 2),
            ("Reciprocal", lambda y, dy: -dy * y**2),
            ("Inv", lambda y, dy: -dy * y**2),
            ("Tanh", lambda y, dy: dy * (1 - y**2)),
            ("Sigmoid", lambda y, dy: dy * y * (1 - y)),
        )
    ),
]

_vectorize = np.vectorize
SPECIAL = [
    _unary("Erf", _vectorize(math.erf)),
    _unary("Erf", _vectorize(math.erf), (A * 4).astype(np.float64), note="double"),
    _unary("Erfc", _vectorize(math.erfc), A * 3, rtol=1e-4),
    Sample("Erfinv", _public("math.erfinv"), (UNIT,), None),
    Sample("Ndtri", _public("math.ndtri"), ((UNIT + 1) / 2,), None),
    _unary("Lgamma", _vectorize(math.lgamma), P * 3),
    _unary(
        "Lgamma", _vectorize(math.lgamma), A * 3 - 0.3, note="negative", gradient_tolerance=1e-4
    ),
    _unary("Digamma", None, P * 2),
    Sample("Polygamma", _public("polygamma"), (np.full(3, 1.0, np.float32), P), None, (1,)),
    Sample("Zeta", _public("zeta"), (P + 1.5, Q), None, (1,)),
    Sample("Igamma", _public("igamma"), (P, Q), None, second=False),
    Sample("Igamma", _public("igamma"), (P, Q * 5), None, (1,), note="above"),
    Sample("Igammac", _public("igammac"), (P, Q), None, second=False),
    Sample(
        "IgammaGradA",
        lambda tf, a, x: raw(tf, "IgammaGradA", a=a, x=x),
        (P, Q),
        None,
        (),
        rtol=1e-4,
    ),
    Sample("Betainc", _public("betainc"), (P, P.T.reshape(2, 3), (UNIT + 1) / 2), None, (2,)),
    Sample("BesselI0", _public("math.bessel_i0"), (A,), None),
    Sample("BesselI1", _public("math.bessel_i1"), (A,), None),
    Sample("BesselI0e", _public("math.bessel_i0e"), (A,), None),
    Sample("BesselI1e", _public("math.bessel_i1e"), (A,), None),
    Sample("Xlogy", _public("math.xlogy"), (A, P), lambda x, y: x * np.log(y)),
    Sample("Xlog1py", _public("math.xlog1py"), (A, P), lambda x, y: x * np.log1p(y)),
    Sample("Xdivy", _public("math.xdivy"), (A, P), lambda x, y: x / y),
    Sample("NextAfter", _public("math.nextafter"), (A, B), np.nextafter, ()),
    Sample(
        "Lgamma",
        _public("lbeta"),
        (P,),
        lambda x: _vectorize(math.lgamma)(x).sum(-1) - _vectorize(math.lgamma)(x.sum(-1)),
        note="lbeta",
    ),
]


def _parts(tf: Any, z: Any) -> Any:
    """Something real that depends on both parts, so that its gradient can be checked."""
    return tf.real(z) * 2.0 + tf.imag(z)


COMPLEX = [
    Sample("Complex", lambda tf, x, y: tf.complex(x, y), (A, B), lambda x, y: x + 1j * y, ()),
    Sample(
        "Complex",
        lambda tf, x, y: _parts(tf, tf.complex(x, y)),
        (A, ROW),
        lambda x, y: 2 * x + y,
        note="broadcast",
    ),
    Sample("Real", _public("real"), (C,), np.real),
    Sample("Imag", _public("imag"), (C,), np.imag),
    Sample("Conj", _public("conj"), (C,), np.conj),
    Sample("Angle", _public("angle"), (C,), np.angle),
    Sample(
        "Angle",
        lambda tf, x, y: tf.angle(tf.complex(x, y)),
        (P, A),
        lambda x, y: np.arctan2(y, x),
        note="gradient",
    ),
    Sample(
        "ComplexAbs", lambda tf, x, y: tf.abs(tf.complex(x, y)), (P, A), np.hypot, note="gradient"
    ),
    *(
        Sample(
            op,
            lambda tf, x, y, name=name: _parts(tf, getattr(tf, name)(tf.complex(x, y))),
            (P, A),
            note="complex gradient",
        )
        for op, name in (
            ("Exp", "exp"),
            ("Log", "log"),
            ("Square", "square"),
            ("Sqrt", "sqrt"),
            ("Sin", "sin"),
            ("Tanh", "tanh"),
            ("Reciprocal", "reciprocal"),
            ("Conj", "conj"),
        )
    ),
    Sample(
        "RealDiv",
        lambda tf, x, y: _parts(tf, tf.complex(x, y) / tf.complex(y, x)),
        (P, P + 1),
        note="complex gradient",
    ),
]


def _spectrum(name: str, **kwargs: Any) -> Callable[..., Any]:
    def build(tf: Any, x: Any, y: Any) -> Any:
        return _parts(tf, getattr(tf.spectral, name)(tf.complex(x, y), **kwargs))

    return build


def _cosine_transform(x: Any, kind: int, norm: str | None) -> Any:
    """The sums that define the transforms, as a matrix."""
    n = x.shape[-1]
    j, k = np.arange(n)[:, None], np.arange(n)[None, :]
    if kind == 1:
        matrix = 2 * np.cos(np.pi * j * k / (n - 1))
        matrix[0], matrix[-1] = 1.0, (-1.0) ** np.arange(n)
    elif kind == 2:
        matrix = 2 * np.cos(np.pi * (2 * j + 1) * k / (2 * n))
        if norm:
            matrix *= np.sqrt(1 / (2 * n)) * np.where(k == 0, np.sqrt(0.5), 1)
    else:
        matrix = 2 * np.cos(np.pi * j * (2 * k + 1) / (2 * n))
        matrix[0] = 1.0
        if norm:
            matrix *= np.sqrt(1 / (2 * n))
            matrix[0] *= np.sqrt(2)
    return x @ matrix


CUBE, CUBE2 = _array(2, 3, 4), _array(2, 3, 4)
SPECTRAL = []
for _n, _suffix in ((1, ""), (2, "2d"), (3, "3d")):
    _axes = tuple(range(-_n, 0))
    SPECTRAL += [
        Rough(
            f"FFT{_suffix.upper()}",
            _spectrum(f"fft{_suffix}"),
            (CUBE, CUBE2),
            lambda x, y, axes=_axes: (lambda z: 2 * z.real + z.imag)(
                np.fft.fftn(x + 1j * y, axes=axes)
            ),
        ),
        Rough(
            f"IFFT{_suffix.upper()}",
            _spectrum(f"ifft{_suffix}"),
            (CUBE, CUBE2),
            lambda x, y, axes=_axes: (lambda z: 2 * z.real + z.imag)(
                np.fft.ifftn(x + 1j * y, axes=axes)
            ),
        ),
        Rough(
            f"RFFT{_suffix.upper()}",
            lambda tf, x, s=_suffix: _parts(tf, getattr(tf.spectral, f"rfft{s}")(x)),
            (CUBE,),
            lambda x, axes=_axes: (lambda z: 2 * z.real + z.imag)(np.fft.rfftn(x, axes=axes)),
            oracle=_n < 3,
            note="" if _n < 3 else "TensorFlow has no gradient",
        ),
        Rough(
            f"IRFFT{_suffix.upper()}",
            lambda tf, x, y, s=_suffix: getattr(tf.spectral, f"irfft{s}")(tf.complex(x, y)),
            (CUBE, CUBE2),
            lambda x, y, axes=_axes: np.fft.irfftn(x + 1j * y, axes=axes),
            oracle=_n < 3,
            note="" if _n < 3 else "TensorFlow has no gradient",
        ),
    ]
SPECTRAL += [
    Rough(
        "RFFT",
        lambda tf, x, n=n: _parts(tf, tf.spectral.rfft(x, fft_length=[n])),
        (CUBE,),
        lambda x, n=n: (lambda z: 2 * z.real + z.imag)(np.fft.rfft(x, n)),
        note=f"length {n}",
        oracle=n != 3,  # TensorFlow's gradient fails to build for odd lengths
    )
    for n in (3, 6)
] + [
    Rough(
        "RFFT",
        lambda tf, x, t=t, norm=norm: tf.spectral.dct(x, type=t, norm=norm),
        (CUBE,),
        lambda x, t=t, norm=norm: _cosine_transform(x, t, norm),
        oracle=(t, norm) != (2, "ortho"),  # the same values, from a node of another number
        note=f"dct {t} {norm}",
    )
    for t, norm in ((1, None), (2, None), (2, "ortho"), (3, None), (3, "ortho"))
]

QUANTIZE = (
    [
        Sample(
            "QuantizeV2",
            lambda tf, x, mode=mode, t=t: [
                tf.cast(v, tf.int32) if i == 0 else v
                for i, v in enumerate(tf.quantize(x, -2.0, 3.0, getattr(tf, t), mode=mode))
            ],
            (A,),
            None,
            (),
            note=f"{mode} {t}",
        )
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
        for t in ("quint8", "qint8")
    ]
    + [
        Sample(
            "Dequantize",
            lambda tf, x, mode=mode: tf.dequantize(
                *tf.quantize(x, -2.0, 3.0, tf.quint8, mode=mode), mode=mode
            ),
            (A,),
            None,
            (),
            note=mode,
        )
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
    ]
    + [
        Sample(
            "FakeQuantWithMinMaxArgs",
            lambda tf, x: tf.quantization.fake_quant_with_min_max_args(x, -1.0, 1.0, num_bits=4),
            (A,),
            None,
            (),
        ),
        Sample(
            "FakeQuantWithMinMaxArgsGradient",
            lambda tf, dy, x: tf.quantization.fake_quant_with_min_max_args_gradient(
                dy, x, -1.0, 1.0
            ),
            (B, A),
            lambda dy, x: dy * (np.abs(x) <= 1.004),
            (),
        ),
        Sample(
            "FakeQuantWithMinMaxVars",
            lambda tf, x: tf.quantization.fake_quant_with_min_max_vars(
                x, -0.9, 1.3, narrow_range=True
            ),
            (A,),
            None,
            (),
        ),
        Sample(
            "FakeQuantWithMinMaxVarsGradient",
            lambda tf, dy, x: list(
                tf.quantization.fake_quant_with_min_max_vars_gradient(dy, x, -0.9, 1.3)
            ),
            (B, A),
            None,
            (),
        ),
        Sample(
            "FakeQuantWithMinMaxVarsPerChannel",
            lambda tf, x: tf.fake_quant_with_min_max_vars_per_channel(
                x, [-0.9, 0.0, -2.0], [1.3, 0.5, 0.1], num_bits=3
            ),
            (A,),
            None,
            (),
        ),
        Sample(
            "FakeQuantWithMinMaxVarsPerChannelGradient",
            lambda tf, dy, x: list(
                tf.fake_quant_with_min_max_vars_per_channel_gradient(
                    dy, x, [-0.9, 0.0, -2.0], [1.3, 0.0, 0.1]
                )
            ),
            (B, A),
            None,
            (),
        ),
    ]
    + [
        Sample(
            "QuantizeAndDequantizeV2",
            lambda tf, x, ends=ends, options=options: tf.quantization.quantize_and_dequantize(
                x, *ends, **options
            ),
            (A,),
            None,
            (),
            note=note,
        )
        for note, ends, options in (
            ("whole", (-0.9, 0.7), {}),
            ("range", (-0.9, 0.7), {"range_given": True, "num_bits": 4}),
            ("unsigned", (-0.9, 0.7), {"signed_input": False, "num_bits": 3}),
            ("up, narrow", (-0.9, 0.7), {"round_mode": "HALF_UP", "narrow_range": True}),
            ("axis", ([-1.0] * 3, [0.5] * 3), {"range_given": True, "axis": 1}),
        )
    ]
)

CLIP = [
    Sample(
        "Maximum",
        lambda tf, x: tf.clip_by_value(x, -0.5, 0.5),
        (A,),
        lambda x: np.clip(x, -0.5, 0.5),
        note="clip_by_value",
    ),
    Sample(
        "ClipByValue",
        lambda tf, x: raw(tf, "ClipByValue", t=x, clip_value_min=-0.5, clip_value_max=0.5),
        (A,),
        lambda x: np.clip(x, -0.5, 0.5),
    ),
    Sample(
        "Identity",
        lambda tf, x: tf.clip_by_norm(x, 1.0),
        (A,),
        lambda x: x / max(1.0, np.linalg.norm(x)),
        note="clip_by_norm",
    ),
    Sample(
        "Identity",
        lambda tf, x: tf.clip_by_norm(x, 0.5, axes=[1]),
        (A,),
        lambda x: x * 0.5 / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 0.5),
        note="clip_by_norm axes",
    ),
    Sample(
        "Identity",
        lambda tf, x: tf.clip_by_average_norm(x, 0.1),
        (A,),
        None,
        note="clip_by_average_norm",
    ),
    Sample(
        "Identity",
        lambda tf, x, y: list(tf.clip_by_global_norm([x, y], 1.0)[0]),
        (A, B),
        None,
        note="clip_by_global_norm",
    ),
    Sample(
        "Sqrt",
        lambda tf, x, y: tf.global_norm([x, None, y]),
        (A, B),
        lambda x, y: np.sqrt((x * x).sum() + (y * y).sum()),
        note="global_norm",
    ),
]

SAMPLES = [*ARITHMETIC, *COMPARISON, *ELEMENTARY, *SPECIAL, *COMPLEX, *SPECTRAL, *QUANTIZE, *CLIP]
