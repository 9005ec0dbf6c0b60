"""Bijectors as TensorFlow's own tests ask them: shapes that are fed, checks of arguments, chains of ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.bijector_tests import assert_bijective_and_finite, assert_scalar_congruency

B = tf.contrib.distributions.bijectors
ds = tf.contrib.distributions
RNG = np.random.default_rng(7)


def _hidden(value: Any) -> Any:
    return tf.placeholder_with_default(value, None)


TRIL = np.array([[1.0, 9.0], [-1.0, 2.0]], np.float32)
FACTOR = np.array([[1.0, 0.0], [1.5, 3.0]], np.float32)
PARTS = {
    "scale_identity_multiplier": (np.float32(2.0), 2 * np.eye(2)),
    "scale_diag": (np.float32([2.0, 3.0]), np.diag([2.0, 3.0])),
    "scale_tril": (TRIL, np.tril(TRIL)),
    "scale_perturb_factor": (FACTOR, FACTOR @ np.diag([2.0, 0.5]) @ FACTOR.T),
}


@pytest.mark.parametrize("names", [[0], [1], [2], [0, 1, 2], [1, 3], [0, 3], [0, 1, 2, 3]])
@pytest.mark.parametrize("hide", [False, True])
def test_affine_of_each_part(session: tf.Session, names: list[int], hide: bool) -> None:
    chosen = [list(PARTS)[i] for i in names]
    given = {name: PARTS[name][0] for name in chosen}
    if hide:
        given = {name: _hidden(value) for name, value in given.items()}
    if "scale_perturb_factor" in given:
        given["scale_perturb_diag"] = np.float32([2.0, 0.5])
    matrix = sum(PARTS[name][1] for name in chosen)
    bijector = B.Affine(shift=np.float32([1.0, -2.0]), **given)
    x = RNG.standard_normal((3, 4, 2)).astype(np.float32)
    y, back, log_det = session.run(
        [
            bijector.forward(_hidden(x) if hide else x),
            bijector.inverse(x),
            bijector.forward_log_det_jacobian(x, event_ndims=1),
        ]
    )
    np.testing.assert_allclose(y, x @ matrix.T + [1.0, -2.0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        back, (x - [1.0, -2.0]) @ np.linalg.inv(matrix).T, rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(log_det, np.log(abs(np.linalg.det(matrix))), rtol=1e-4)


def test_affine_checks_its_parts(session: tf.Session) -> None:
    with pytest.raises(ValueError, match="scale_perturb_factor must be specified"):
        B.Affine(scale_perturb_diag=[1.0])
    with pytest.raises(TypeError, match="incompatible"):
        B.Affine(shift=np.float64(1.0), scale_diag=np.float32([1.0]))
    for parts, text in (
        ({"scale_diag": [0.0, 1.0]}, "diagonal part must be non-zero"),
        ({"scale_tril": [[0.0, 0.0], [1.0, 1.0]]}, "diagonal part must be non-zero"),
        ({"scale_identity_multiplier": 0.0}, "identity_multiplier should be non-zero"),
    ):
        given = {name: _hidden(np.float32(value)) for name, value in parts.items()}
        bijector = B.Affine(validate_args=True, **given)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(bijector.forward([1.0, 1.0]))
    assert isinstance(B.Affine(scale_diag=[1.0]).scale, tf.linalg.LinearOperator)
    with pytest.raises(TypeError, match=r"not an instance of tf\.LinearOperator"):
        B.AffineLinearOperator(scale=3.0)
    with pytest.raises(ValueError, match="non-singular"):
        B.AffineLinearOperator(
            scale=tf.linalg.LinearOperatorFullMatrix([[1.0]]), validate_args=True
        )


def test_an_absolute_value_has_two_inverses(session: tf.Session) -> None:
    bijector = B.AbsoluteValue(validate_args=True)
    y = [1.0, 2.0]
    assert session.run(bijector.forward([-1.0, 2.0])).tolist() == y
    found = session.run([bijector.inverse(y), bijector.inverse_log_det_jacobian(y, event_ndims=0)])
    assert [part.tolist() for part in found[0]] == [[-1.0, -2.0], y]
    assert [part.tolist() for part in found[1]] == [0.0, 0.0]
    with pytest.raises(NotImplementedError, match="non-injective"):
        bijector.forward_log_det_jacobian(y, event_ndims=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="y was negative"):
        session.run(bijector.inverse(_hidden(np.float32([-1.0])))[0])
    with pytest.raises(NotImplementedError, match="Chain takes injective ones only"):
        B.Chain([B.AbsoluteValue()])


@pytest.mark.parametrize(
    ("name", "arguments", "low", "high"),
    [
        ("Weibull", {"scale": 20.0, "concentration": 0.3}, 1.0, 100.0),
        ("Gumbel", {"loc": 0.3, "scale": 20.0}, 1.0, 100.0),
        ("PowerTransform", {"power": 0.2, "validate_args": True}, -2.0, 1.5),
        ("Softplus", {"hinge_softness": 1.3}, -2.0, 2.0),
        ("Square", {}, 1e-3, 1.5),
    ],
)
def test_scalar_bijectors_are_congruent(
    session: tf.Session, name: str, arguments: dict[str, Any], low: float, high: float
) -> None:
    assert_scalar_congruency(getattr(B, name)(**arguments), low, high, rtol=0.05)


def test_the_helpers_find_what_is_wrong(session: tf.Session) -> None:
    wrong = B.Inline(tf.exp, tf.log, lambda y: -y, lambda x: x, forward_min_event_ndims=0)
    with pytest.raises(AssertionError):
        assert_scalar_congruency(wrong, 0.5, 1.5)
    with pytest.raises(AssertionError):
        assert_bijective_and_finite(wrong, np.float32([1.0]), np.float32([2.0]), event_ndims=0)
    x = np.float32([[0.5, 2.0]])
    assert_bijective_and_finite(B.Exp(), x, x, event_ndims=1)


@pytest.mark.parametrize(
    ("make", "value", "text"),
    [
        (lambda: B.Weibull(scale=-1.0, validate_args=True), [1.0], "scale was not positive"),
        (lambda: B.Weibull(validate_args=True), [-1.0], "must be at least 0"),
        (lambda: B.Square(validate_args=True), [-1.0], "must be non-negative"),
        (lambda: B.Ordered(validate_args=True), [1.0, 0.0], "strictly increasing"),
        (lambda: B.Softplus(0.0, validate_args=True), [1.0], "hinge_softness must be non-zero"),
        (lambda: B.PowerTransform(0.2, validate_args=True), [-6.0], "must be at least -"),
        (lambda: B.Kumaraswamy(0.5, 1.0, validate_args=True), [2.0], "no larger than `1`"),
        (
            lambda: B.SinhArcsinh(0.0, -1.0, validate_args=True),
            [1.0],
            "tailweight was not positive",
        ),
        (lambda: B.AffineScalar(scale=0.0, validate_args=True), [1.0], "!="),
        (
            lambda: B.MatrixInverseTriL(validate_args=True),
            [[0.0, 0.0], [1.0, 1.0]],
            "all diagonal entries nonzero",
        ),
        (lambda: B.MatrixInverseTriL(validate_args=True), np.ones((2, 2)), "be lower triangular"),
        (
            lambda: B.Permute(_hidden(np.int32([1, 2])), validate_args=True),
            [1.0],
            "Permutation over `d` must contain",
        ),
    ],
)
def test_arguments_are_checked_as_the_graph_runs(
    session: tf.Session, make: Any, value: Any, text: str
) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        found = make()
        session.run(found.forward(_hidden(np.float32(value))))


def test_a_permutation_is_checked_when_it_is_known() -> None:
    with pytest.raises(ValueError, match="exactly one of each"):
        B.Permute([1, 2])
    with pytest.raises(TypeError, match="int"):
        B.Permute([0.0, 1.0])
    with pytest.raises(ValueError, match="non-negative TF constant"):
        B.PowerTransform(power=-0.1)


@pytest.mark.parametrize("hide", ["no", "sizes", "rank"])
def test_reshape(session: tf.Session, hide: str) -> None:
    def given(shape: list[int]) -> Any:
        vector = np.int32(shape)
        if hide == "no":
            return shape
        return tf.placeholder_with_default(vector, None if hide == "rank" else vector.shape)

    x = RNG.standard_normal((4, 3, 2))
    bijector = B.Reshape(given([6]), given([3, 2]), validate_args=True)
    y, back, shape, inverse_shape = session.run(
        [
            bijector.forward(x),
            bijector.inverse(x.reshape(4, 6)),
            bijector.forward_event_shape_tensor([3, 2]),
            bijector.inverse_event_shape_tensor([6]),
        ]
    )
    assert y.tolist() == x.reshape(4, 6).tolist() and back.tolist() == x.tolist()
    assert shape.tolist() == [6] and inverse_shape.tolist() == [3, 2]
    scalar = B.Reshape(given([]), given([1]), validate_args=True)
    assert session.run(scalar.forward(x[:, :, :1])).shape == (4, 3)
    for out, text in (
        ([4, -1, -1], "at most one `-1`"),
        ([1, 2, -2], "positive integers or `-1`"),
    ):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=text):
            session.run(B.Reshape(given(out), given([3, 2]), validate_args=True).forward(x))
    other = B.Reshape(given([6]), given([2, 3]), validate_args=True)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="does not match"):
        session.run(other.forward(x))


def test_shapes_of_events_that_are_fed(session: tf.Session) -> None:
    fill, softmax = B.FillTriangular(validate_args=True), B.SoftmaxCentered(validate_args=True)
    chain = B.Chain([B.SoftmaxCentered(), B.SoftmaxCentered()])
    both = B.Invert(softmax)
    vector = _hidden(np.int32([5, 6]))
    matrix, shares, four, fewer = session.run(
        [
            fill.forward_event_shape_tensor(vector),
            softmax.forward_event_shape_tensor(vector),
            chain.forward_event_shape_tensor([2]),
            both.forward_event_shape_tensor([3]),
        ]
    )
    assert matrix.tolist() == [5, 3, 3] and shares.tolist() == [5, 7]
    assert four.tolist() == [4] and fewer.tolist() == [2]
    assert session.run(fill.inverse_event_shape_tensor([5, 3, 3])).tolist() == [5, 6]
    with pytest.raises(ValueError, match="is not a triangular number"):
        fill.forward_event_shape([7])
    with pytest.raises(ValueError, match="Matrix must be square"):
        fill.inverse_event_shape([3, 2])
    for shape, method, text in (
        ([7], fill.forward_event_shape_tensor, "is not a triangular number"),
        ([3, 2], fill.inverse_event_shape_tensor, "Matrix must be square"),
        ([1], softmax.inverse_event_shape_tensor, "Need last dimension greater than 1"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(method(_hidden(np.int32(shape))))
    assert fill.forward_event_shape([None, None]).as_list() == [None, None, None]
    hidden = _hidden(np.float32([[1, 2, 3, 4, 5, 6]]))
    triangle = ds.fill_triangular(hidden)
    found, again = session.run([triangle, ds.fill_triangular_inverse(triangle)])
    assert found.tolist() == [[[4, 0, 0], [6, 5, 0], [3, 2, 1]]]
    assert again.tolist() == [[1, 2, 3, 4, 5, 6]]


class _Ranks(B.Bijector):
    def __init__(self, forward: Any, inverse: Any) -> None:
        super().__init__(forward_min_event_ndims=forward, inverse_min_event_ndims=inverse)


@pytest.mark.parametrize(
    ("ranks", "wanted"),
    [
        ([(0, 0), (1, 1), (0, 0)], (1, 1)),
        ([(0, 3)], (0, 3)),
        ([(0, 3), (1, 1)], (1, 4)),
        ([(1, 1), (0, 3)], (0, 3)),
        ([(0, 3), (0, 3)], (0, 6)),
        ([(2, 3), (1, 0)], (3, 3)),
        ([(1, 1), (3, 0)], (4, 1)),
    ],
)
def test_axes_that_a_chain_needs(ranks: list[tuple[int, int]], wanted: tuple[int, int]) -> None:
    chain = B.Chain([_Ranks(*pair) for pair in ranks])
    assert (chain.forward_min_event_ndims, chain.inverse_min_event_ndims) == wanted


def test_a_bijector_says_what_is_wrong_with_its_arguments() -> None:
    with pytest.raises(TypeError, match="abstract"):
        B.Bijector()
    with pytest.raises(TypeError, match="to be of type int"):
        _Ranks(0.5, 0)
    with pytest.raises(ValueError, match="inverse_min_event_ndims must be a non-negative"):
        _Ranks(0, -1)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Input had dtype"):
        B.Affine(scale_diag=np.float32([1.0])).forward(tf.constant([1.0], tf.float64))


def test_a_chain_of_other_ranks_counts_once(session: tf.Session) -> None:
    chain = B.Chain([B.Affine(scale_diag=np.float32([1.0, 2.0, 3.0])), B.Exp()])
    x = np.log(np.float32([1.0, 2.0, 3.0]))
    found = session.run(chain.forward_log_det_jacobian(x, event_ndims=1))
    np.testing.assert_allclose(found, np.log(6.0) + x.sum(), rtol=1e-5)
    scale = B.ScaleTriL()
    y = scale.forward(np.float32([[0.3, -0.2, 0.5]]))
    up = scale.forward_log_det_jacobian(np.float32([[0.3, -0.2, 0.5]]), event_ndims=1)
    down = B.ScaleTriL().inverse_log_det_jacobian(tf.identity(y), event_ndims=2)
    up, down = session.run([up, down])
    np.testing.assert_allclose(up, -down, rtol=1e-4)


class _Conditional(B.ConditionalBijector):
    def __init__(self) -> None:
        super().__init__(forward_min_event_ndims=0)

    def _forward(self, x: Any, arg1: float) -> Any:
        return x * arg1

    def _inverse(self, y: Any, arg1: float) -> Any:
        return y / arg1

    def _forward_log_det_jacobian(self, x: Any, arg1: float) -> Any:
        return tf.zeros_like(x) + tf.log(arg1)

    def _inverse_log_det_jacobian(self, y: Any, arg1: float) -> Any:
        return tf.zeros_like(y) - tf.log(arg1)


def test_conditions_reach_the_functions(session: tf.Session) -> None:
    bijector, x = _Conditional(), tf.constant([1.0, 2.0])
    twice, thrice, half, up, down = session.run(
        [
            bijector.forward(x, arg1=2.0),
            bijector.forward(x, arg1=3.0),
            bijector.inverse(x, arg1=2.0),
            bijector.forward_log_det_jacobian(x, event_ndims=1, arg1=2.0),
            bijector.inverse_log_det_jacobian(x, event_ndims=0, arg1=2.0),
        ]
    )
    assert twice.tolist() == [2.0, 4.0] and thrice.tolist() == [3.0, 6.0]
    assert half.tolist() == [0.5, 1.0]
    np.testing.assert_allclose(up, 2 * np.log(2.0), rtol=1e-6)
    np.testing.assert_allclose(down, [-np.log(2.0)] * 2, rtol=1e-6)


def test_inline_shapes(session: tf.Session) -> None:
    bijector = B.Inline(
        forward_event_shape_tensor_fn=lambda x: tf.concat([x, [1]], 0),
        inverse_event_shape_tensor_fn=lambda x: x[:-1],
        forward_min_event_ndims=0,
    )
    found = [bijector.forward_event_shape_tensor([2]), bijector.inverse_event_shape_tensor([2, 1])]
    assert [shape.tolist() for shape in session.run(found)] == [[2, 1], [2]]


def test_a_fed_number_of_axes_with_a_constant_determinant(session: tf.Session) -> None:
    ndims = tf.placeholder(tf.int32)
    bijector = B.Affine(scale_diag=np.float32([[2.0, 2.0]]))
    found = bijector.forward_log_det_jacobian(np.float32([[[1.0, 1.0]]]), event_ndims=ndims)
    np.testing.assert_allclose(session.run(found, {ndims: 1}), [np.log(4.0)], rtol=1e-6)


def test_auto_correlation(session: tf.Session) -> None:
    x = RNG.standard_normal((50, 2)).astype(np.float32)
    centered = x - x.mean(0)
    wanted = np.array([(centered[: 50 - k] * centered[k:]).mean(0) for k in range(4)])
    plain, shared, raw, complex_ = session.run(
        [
            ds.auto_correlation(x, axis=0, max_lags=3, normalize=False),
            ds.auto_correlation(_hidden(x), axis=0, max_lags=3),
            ds.auto_correlation(x[:, 0], center=False, normalize=False),
            ds.auto_correlation(x[:, 0] * (1 + 1j), center=False, normalize=False),
        ]
    )
    np.testing.assert_allclose(plain, wanted, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(shared, wanted / wanted[0], rtol=1e-3, atol=1e-4)
    assert raw.shape == (50,)
    np.testing.assert_allclose(raw[0], (x[:, 0] ** 2).mean(), rtol=1e-4)
    np.testing.assert_allclose(complex_[1], 2 * raw[1], rtol=1e-3, atol=1e-4)


def test_distributions_of_transformed_parameters(session: tf.Session) -> None:
    chi, wanted = ds.Chi2WithAbsDf(df=-3.7), ds.Chi2(df=3.0)
    inverse = ds.InverseGammaWithSoftplusConcentrationRate(0.3, -0.2)
    own = ds.InverseGamma(tf.nn.softplus(0.3), tf.nn.softplus(-0.2))
    a, b, c, d = session.run([chi.prob(1.5), wanted.prob(1.5), inverse.prob(1.5), own.prob(1.5)])
    assert a == b and c == d
    assert chi.parameters["df"] == -3.7


def test_a_distribution_through_an_absolute_value(session: tf.Session) -> None:
    folded = ds.TransformedDistribution(ds.Normal(0.5, 1.0), B.AbsoluteValue())
    y = np.float32([0.5, 2.0])
    log_prob, prob = session.run([folded.log_prob(y), folded.prob(y)])
    wanted = sum(np.exp(-((side * y - 0.5) ** 2) / 2) for side in (1, -1)) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(prob, wanted, rtol=1e-5)
    np.testing.assert_allclose(log_prob, np.log(wanted), rtol=1e-5)
    for method in (
        lambda: folded.cdf(y),
        lambda: folded.quantile(0.5),
        folded.mean,
        folded.entropy,
    ):
        with pytest.raises(NotImplementedError):
            method()


def test_counts_must_sum_to_the_total(session: tf.Session) -> None:
    for distribution in (
        ds.Multinomial(5.0, probs=[0.1, 0.2, 0.7], validate_args=True),
        ds.DirichletMultinomial(5.0, [1.0, 2.0, 3.0], validate_args=True),
    ):
        assert 0 < session.run(distribution.prob([2.0, 2.0, 1.0])) < 1
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"must sum to `self\.total_count`"
        ):
            session.run(distribution.prob(_hidden(np.float32([2.0, 3.0, 2.0]))))


class _Given(ds.ConditionalDistribution):
    def __init__(self) -> None:
        super().__init__(tf.float32, ds.NOT_REPARAMETERIZED, False, False, name="Given")

    def _batch_shape(self) -> Any:
        return tf.TensorShape([])

    _event_shape = _batch_shape

    def _sample_n(self, n: Any, seed: Any = None, level: float = 0.0) -> Any:
        return tf.fill([n], level)

    def _log_prob(self, x: Any, level: float = 0.0) -> Any:
        return x + level

    def _cdf(self, x: Any, level: float = 0.0) -> Any:
        return x * level


def test_a_distribution_given_something(session: tf.Session) -> None:
    given = _Given()
    found = session.run(
        [
            given.sample(2, level=3.0),
            given.log_prob(1.0, level=2.0),
            given.prob(1.0, level=2.0),
            given.cdf(0.5, level=0.5),
            given.survival_function(0.5, level=0.5),
            given.log_cdf(0.5, level=0.5),
            given.log_survival_function(0.5, level=0.5),
            given.log_prob(1.0),
        ]
    )
    assert found[0].tolist() == [3.0, 3.0]
    np.testing.assert_allclose(
        found[1:],
        [3.0, np.exp(3.0), 0.25, 0.75, np.log(0.25), np.log(0.75), 1.0],
        rtol=1e-5,
    )


@pytest.mark.parametrize("value, said", [(-1.0, "non-negative"), (1.5, "no larger than `1`")])
def test_a_kumaraswamy_distribution_refuses_what_it_never_draws(graph, value, said):
    checked = tf.contrib.distributions.Kumaraswamy(2.0, 3.0, validate_args=True)
    with tf.Session() as session:
        assert session.run(checked.prob([0.0, 1.0])).tolist() == [0.0, 0.0]
        for function in checked.prob, checked.cdf:
            with pytest.raises(tf.errors.InvalidArgumentError, match=said):
                session.run(function(value))
