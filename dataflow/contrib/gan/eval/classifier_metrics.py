"""How good and how different generated images are, by what a classifier makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops import array
from dataflow.ops.activation import log_softmax, softmax
from dataflow.ops.arithmetic import maximum, squared_difference
from dataflow.ops.casts import cast
from dataflow.ops.comparison import less, less_equal
from dataflow.ops.conditionals import cond
from dataflow.ops.cumulative import cumsum
from dataflow.ops.decompositions import svd
from dataflow.ops.elementary import ceil, exp, log, sqrt, square
from dataflow.ops.functional import map_fn
from dataflow.ops.matmul import matmul
from dataflow.ops.matrix_diag import diag, trace
from dataflow.ops.moments import moments
from dataflow.ops.reduce import reduce_mean, reduce_sum
from dataflow.ops.sources import constant

#: Singular values below this are not drawn the root of.
_SMALL = 1e-10


def classified(images: Any, classifier_fn: Callable[..., Any], num_batches: int) -> Any:
    """What ``classifier_fn`` makes of images, in ``num_batches`` batches one after the other."""
    outputs = map_fn(
        classifier_fn,
        array.stack(array.split(images, num_batches)),
        parallel_iterations=1,
        back_prop=False,
        swap_memory=True,
        name="RunClassifier",
    )
    return array.concat(array.unstack(outputs), 0)


def classifier_score(images: Any, classifier_fn: Callable[..., Any], num_batches: int = 1) -> Any:
    """`classifier_score_from_logits` of ``classifier_fn(images)``, in so many batches."""
    return classifier_score_from_logits(classified(images, classifier_fn, num_batches))


def classifier_score_from_logits(logits: Any) -> Any:
    """exp of the mean divergence of each image's classes from all images', a scalar from 1 to the classes.

    ``logits``: floats of shape [batch, classes]; computed in float64. Salimans et al., "Improved
    Techniques for Training GANs", 2016.
    """
    logits = convert_to_tensor(logits)
    logits.shape.assert_has_rank(2)
    wide = cast(logits, dtypes.float64)
    probabilities = softmax(wide)
    overall = reduce_mean(probabilities, axis=0)
    divergences = reduce_sum(probabilities * (log_softmax(wide) - log(overall)), axis=1)
    return cast(exp(reduce_mean(divergences)), logits.dtype)


def _activations(real: Any, generated: Any) -> tuple[Any, Any, dtypes.DType]:
    """Both as float64 of shape [batch, features], and the dtype of what is computed of them."""
    real, generated = convert_to_tensor(real), convert_to_tensor(generated)
    real.shape.assert_has_rank(2)
    generated.shape.assert_has_rank(2)
    return cast(real, dtypes.float64), cast(generated, dtypes.float64), real.dtype


def mean_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """The squared distance of the means of activations of shape [batch, features], a scalar."""
    real, generated, dtype = _activations(real_activations, generated_activations)
    means = [reduce_mean(activations, axis=0) for activations in (real, generated)]
    return cast(reduce_sum(squared_difference(*means)), dtype)


def diagonal_only_frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """The Fréchet distance of normal distributions whose features are independent, a scalar.

    Activations are of shape [batch, features].
    """
    real, generated, dtype = _activations(real_activations, generated_activations)
    (mean, variance), (other, other_variance) = (moments(x, axes=[0]) for x in (real, generated))
    spread = variance + other_variance - 2.0 * sqrt(variance * other_variance)
    return cast(reduce_sum(spread) + reduce_sum(squared_difference(mean, other)), dtype)


def _root(matrix: Any) -> Any:
    """The square root of a symmetric matrix without negative eigenvalues."""
    values, left, right = svd(matrix)
    roots = array.where(less(values, _SMALL), values, sqrt(values))
    return matmul(matmul(left, diag(roots)), right, transpose_b=True)


def frechet_classifier_distance_from_activations(
    real_activations: Any, generated_activations: Any
) -> Any:
    """The Fréchet distance of the normal distributions of activations, a scalar; computed in float64.

    Activations are of shape [batch, features]. Heusel et al., "GANs Trained by a Two Time-Scale Update
    Rule", 2017.
    """
    real, generated, dtype = _activations(real_activations, generated_activations)

    def mean_and_covariance(x: Any) -> tuple[Any, Any]:
        mean = reduce_mean(x, axis=0)
        centered = x - mean
        count = cast(array.shape(x)[0], dtypes.float64)
        return mean, matmul(centered, centered, transpose_a=True) / (count - 1)

    mean, covariance = mean_and_covariance(real)
    other, other_covariance = mean_and_covariance(generated)
    root = _root(covariance)
    shared = trace(_root(matmul(root, matmul(other_covariance, root))))
    spread = trace(covariance + other_covariance) - 2.0 * shared
    return cast(spread + reduce_sum(squared_difference(mean, other)), dtype)


def frechet_classifier_distance(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Callable[..., Any],
    num_batches: int = 1,
) -> Any:
    """`frechet_classifier_distance_from_activations` of what ``classifier_fn`` makes of images."""
    return frechet_classifier_distance_from_activations(
        classified(real_images, classifier_fn, num_batches),
        classified(generated_images, classifier_fn, num_batches),
    )


def _block_ends(count: Any, blocks: Any) -> Any:
    """Where each of ``blocks`` blocks of ``count`` examples begins, and the last one ends; int32."""
    size = count // blocks
    larger = count - size * blocks
    sizes = array.concat([array.fill([blocks - larger], size), array.fill([larger], size + 1)], 0)
    return array.concat([array.zeros([1], dtypes.int32), cumsum(sizes)], 0)


def kernel_classifier_distance_and_std_from_activations(
    real_activations: Any,
    generated_activations: Any,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> tuple[Any, Any]:
    """The squared maximum mean discrepancy under a cubic kernel, and its standard error; scalars.

    It is the mean of unbiased estimates of blocks of at most ``max_block_size`` examples; the error of
    one block is NaN. Activations are of shape [batch, features]. Bińkowski et al., "Demystifying MMD
    GANs", 2018.
    """
    real_activations.shape.assert_has_rank(2)
    generated_activations.shape.assert_has_rank(2)
    real_activations.shape[1:2].assert_is_compatible_with(generated_activations.shape[1:2])
    dtype = real_activations.dtype if dtype is None else dtypes.as_dtype(dtype)
    real, generated = cast(real_activations, dtype), cast(generated_activations, dtype)
    counts = [array.shape(x)[0] for x in (real, generated)]
    blocks = cast(ceil(maximum(*counts) / max_block_size), dtypes.int32)
    ends = [_block_ends(count, blocks) for count in counts]
    features = cast(real.shape.as_list()[1], dtype)

    def kernel(x: Any, y: Any) -> Any:
        return (matmul(x, y, transpose_b=True) / features + 1) ** 3

    def within(x: Any) -> Any:
        of_pairs = kernel(x, x)
        count = cast(array.shape(x)[0], dtype)
        return (reduce_sum(of_pairs) - trace(of_pairs)) / (count * (count - 1))

    def of_block(i: Any) -> Any:
        x, y = (
            data[end[i] : end[i + 1]] for data, end in zip((real, generated), ends, strict=True)
        )
        return -2 * reduce_mean(kernel(x, y)) + within(x) + within(y)

    estimates = map_fn(of_block, array.range_(blocks), dtype=dtype, back_prop=False)
    mean = reduce_mean(estimates)
    count = cast(blocks, dtype)
    variance = cond(
        less_equal(blocks, 1),
        lambda: constant(float("nan"), dtype=dtype),
        lambda: reduce_sum(square(estimates - mean)) / (count - 1),
    )
    return mean, sqrt(variance / count)


def kernel_classifier_distance_from_activations(
    real_activations: Any,
    generated_activations: Any,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> Any:
    """The distance alone of `kernel_classifier_distance_and_std_from_activations`, a scalar."""
    return kernel_classifier_distance_and_std_from_activations(
        real_activations, generated_activations, max_block_size, dtype
    )[0]


def kernel_classifier_distance_and_std(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Callable[..., Any],
    num_classifier_batches: int = 1,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> tuple[Any, Any]:
    """`kernel_classifier_distance_and_std_from_activations` of what ``classifier_fn`` makes of images."""
    return kernel_classifier_distance_and_std_from_activations(
        classified(real_images, classifier_fn, num_classifier_batches),
        classified(generated_images, classifier_fn, num_classifier_batches),
        max_block_size,
        dtype,
    )


def kernel_classifier_distance(
    real_images: Any,
    generated_images: Any,
    classifier_fn: Callable[..., Any],
    num_classifier_batches: int = 1,
    max_block_size: int = 1024,
    dtype: Any = None,
) -> Any:
    """The distance alone of `kernel_classifier_distance_and_std`, a scalar."""
    return kernel_classifier_distance_and_std(
        real_images,
        generated_images,
        classifier_fn,
        num_classifier_batches,
        max_block_size,
        dtype,
    )[0]
