"""Distributions made of others: independent ones as one event, mixtures, constants."""

from __future__ import annotations

from typing import Any

from dataflow.distributions.categorical import Categorical
from dataflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution, after
from dataflow.distributions.kullback_leibler import RegisterKL, kl_divergence
from dataflow.distributions.statistics import new_seed
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import ShapeLike, TensorLike
from dataflow.ops import array
from dataflow.ops.activation import log_softmax, softmax
from dataflow.ops.assertions import assert_equal
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import add_n, cast, reduce_logsumexp, reduce_prod, reduce_sum, square
from dataflow.ops.partition_stitch import dynamic_partition, dynamic_stitch
from dataflow.ops.sequences import range_
from dataflow.shapes import TensorShape


class Independent(Distribution):
    """The last ``reinterpreted_batch_ndims`` batch axes of ``distribution`` become part of the event.

    `log_prob` sums over them. By default all batch axes but the first.
    """

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        arguments = dict(locals())
        rank = distribution.batch_shape.ndims
        if reinterpreted_batch_ndims is None:
            if rank is None:
                raise ValueError(
                    "give reinterpreted_batch_ndims: the rank of the batch is unknown."
                )
            reinterpreted_batch_ndims = max(0, rank - 1)
        if rank is not None and rank < reinterpreted_batch_ndims:
            raise ValueError(
                f"reinterpreted_batch_ndims({reinterpreted_batch_ndims}) cannot exceed "
                f"distribution.batch_ndims({rank})"
            )
        self._distribution = distribution
        self._taken = int(reinterpreted_batch_ndims)
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=arguments,
            graph_parents=distribution._graph_parents,
            name=name or "Independent" + distribution.name,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of the parts."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """How many batch axes became part of the event."""
        return self._taken

    def _batch_shape(self) -> TensorShape:
        shape = self._distribution.batch_shape
        return (
            shape
            if shape.ndims is None
            else TensorShape(shape.as_list()[: shape.ndims - self._taken])
        )

    def _batch_shape_tensor(self) -> Any:
        shape = self._distribution.batch_shape_tensor()
        return shape[: array.size(shape) - self._taken]

    def _event_shape(self) -> TensorShape:
        shape = self._distribution.batch_shape
        if shape.ndims is None:
            return shape
        taken = TensorShape(shape.as_list()[shape.ndims - self._taken :])
        return taken.concatenate(self._distribution.event_shape)

    def _event_shape_tensor(self) -> Any:
        shape = self._distribution.batch_shape_tensor()
        taken = shape[array.size(shape) - self._taken :]
        return array.concat([taken, self._distribution.event_shape_tensor()], 0)

    def _summed(self, values: TensorLike) -> Any:
        return reduce_sum(values, list(range(-self._taken, 0))) if self._taken else values

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        return self._distribution.sample(n, seed=seed)

    def _log_prob(self, x: TensorLike) -> Any:
        return self._summed(self._distribution.log_prob(x))

    def _entropy(self) -> Any:
        inner = self._distribution
        return self._summed(array.broadcast_to(inner.entropy(), inner.batch_shape_tensor()))

    def _mean(self) -> Any:
        return self._distribution.mean()

    def _variance(self) -> Any:
        return self._distribution.variance()

    def _stddev(self) -> Any:
        return self._distribution.stddev()

    def _mode(self) -> Any:
        return self._distribution.mode()


class MixtureSameFamily(Distribution):
    """A class is drawn from ``mixture_distribution``, then from that member of the last batch axis.

    ``mixture_distribution`` is a `Categorical` of batch ``B`` (or scalar) with k classes,
    ``components_distribution`` has batch ``B + [k]``. Samples have no gradient with respect to the
    mixture's probabilities; maximize `log_prob` for that.
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        arguments = dict(locals())
        k = (
            components_distribution.batch_shape[-1:]
            if (components_distribution.batch_shape.ndims)
            else TensorShape([None])
        )
        ours = mixture_distribution.logits.get_shape()[-1:]
        if not ours.is_compatible_with(k):
            raise ValueError(
                f"`mixture_distribution` components ({ours}) does not equal "
                f"`components_distribution.batch_shape[-1]` ({k})"
            )
        if components_distribution.batch_shape.ndims == 0:
            raise ValueError("`components_distribution` needs a batch axis for the components.")
        self._mixture, self._components = mixture_distribution, components_distribution
        self._event_ndims = components_distribution.event_shape.ndims or 0
        super().__init__(
            dtype=components_distribution.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=arguments,
            graph_parents=mixture_distribution._graph_parents
            + components_distribution._graph_parents,
            name=name,
        )

    @property
    def mixture_distribution(self) -> Categorical:
        """Which component."""
        return self._mixture

    @property
    def components_distribution(self) -> Distribution:
        """The components, along the last batch axis."""
        return self._components

    def _batch_shape(self) -> TensorShape:
        shape = self._components.batch_shape
        return shape if shape.ndims is None else shape[:-1]

    def _batch_shape_tensor(self) -> Any:
        return self._components.batch_shape_tensor()[:-1]

    def _event_shape(self) -> TensorShape:
        return self._components.event_shape

    def _event_shape_tensor(self) -> Any:
        return self._components.event_shape_tensor()

    def _per_component(self, x: TensorLike) -> Any:
        """x with an axis of length 1 where the components are."""
        return array.expand_dims(x, -1 - self._event_ndims)

    def _with_event_axes(self, weights: Any) -> Any:
        for _ in range(self._event_ndims):
            weights = weights[..., None]
        return weights

    def _over_components(self, values: Any) -> Any:
        """The mean of ``B + [k] + event`` with the mixture's probabilities."""
        probs = self._with_event_axes(softmax(self._mixture.logits))
        return reduce_sum(values * cast(probs, values.dtype), -1 - self._event_ndims)

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        k = array.shape(self._mixture.logits)[-1]
        drawn = self._components.sample(n, seed=seed)
        second = None if seed is None else seed + 1
        # One draw for each member of our batch, also where all share one mixture.
        logits = array.broadcast_to(
            self._mixture.logits, array.concat([self.batch_shape_tensor(), [k]], 0)
        )
        chosen = Categorical(logits).sample(n, seed=second)
        mask = self._with_event_axes(array.one_hot(chosen, k, dtype=self.dtype))
        return reduce_sum(drawn * mask, -1 - self._event_ndims)

    def _log_prob(self, x: TensorLike) -> Any:
        log_x = self._components.log_prob(self._per_component(x))
        return reduce_logsumexp(log_x + log_softmax(self._mixture.logits), -1)

    def _cdf(self, x: TensorLike) -> Any:
        return reduce_sum(
            self._components.cdf(self._per_component(x)) * softmax(self._mixture.logits), -1
        )

    def _mean(self) -> Any:
        return self._over_components(self._components.mean())

    def _variance(self) -> Any:
        means = self._components.mean()
        spread = square(means - self._per_component(self._over_components(means)))
        return self._over_components(self._components.variance() + spread)

    def _covariance(self) -> Any:
        """By the law of total variance: ``B + [e, e]`` for events of ``[e]``."""
        if self._event_ndims != 1:
            raise NotImplementedError(
                "A covariance needs events that are vectors, this mixture's have the shape "
                f"{self.event_shape}: use variance()."
            )
        means = self._components.mean()
        away = means - self._per_component(self._over_components(means))
        within = self._components.covariance() + away[..., :, None] * away[..., None, :]
        weights = softmax(self._mixture.logits)[..., None, None]
        return reduce_sum(within * cast(weights, within.dtype), -3)


class Mixture(Distribution):
    """One of ``components``, a list of distributions with the same batch, event and dtype.

    ``cat`` is a `Categorical` of their batch with ``len(components)`` classes. Raises `ValueError` when
    these do not fit.
    """

    def __init__(
        self,
        cat: Categorical,
        components: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        arguments = dict(locals())
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        for component in components:
            if not isinstance(component, Distribution):
                raise TypeError(f"all components must be distributions, got {component!r}.")
        first = components[0]
        if any(c.dtype is not first.dtype for c in components):
            raise TypeError("All components must have the same dtype")
        for component in components[1:]:
            component.event_shape.assert_is_compatible_with(first.event_shape)
            component.batch_shape.assert_is_compatible_with(first.batch_shape)
        cat.batch_shape.assert_is_compatible_with(first.batch_shape)
        classes = cat.logits.get_shape()[-1:]
        if not classes.is_compatible_with([len(components)]):
            raise ValueError(
                f"Mixture given {classes.as_list()[0]} classes, but {len(components)} components"
            )
        self._cat = cat
        self._components: list[Distribution] = list(components)
        super().__init__(
            dtype=first.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=arguments,
            graph_parents=[parent for c in (cat, *components) for parent in c._graph_parents],
            name=name,
        )

    @property
    def cat(self) -> Categorical:
        """Which component."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """The distributions that are mixed."""
        return list(self._components)

    @property
    def num_components(self) -> int:
        """How many there are."""
        return len(self._components)

    def _batch_shape(self) -> TensorShape:
        return self._components[0].batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self._components[0].batch_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self._components[0].event_shape

    def _event_shape_tensor(self) -> Any:
        return self._components[0].event_shape_tensor()

    def _with_event_axes(self, weights: Any) -> Any:
        for _ in range(self.event_shape.ndims or 0):
            weights = weights[..., None]
        return weights

    def _weighted(self, values: list[Any]) -> Any:
        probs = softmax(self._cat.logits)
        return add_n(
            [self._with_event_axes(probs[..., i]) * value for i, value in enumerate(values)]
        )

    def _sample_n(self, n: ShapeLike | Tensor, seed: int | None = None) -> Any:
        """A class for each sample, then as many samples of each component as it was chosen for."""
        shapes = [c.batch_shape_tensor() for c in self._components] if self.validate_args else []
        ours, text = self._cat.batch_shape_tensor(), "component batch shape must match that of cat"
        checks = [assert_equal(shape, ours, message=text) for shape in shapes]
        chosen = after(checks, self._cat.sample(n, seed=seed))
        shape = array.shape(chosen)
        size = self._cat.batch_shape.num_elements() or reduce_prod(self.batch_shape_tensor())
        numbers = array.reshape(range_(array.size(chosen)), shape)
        places = dynamic_partition(numbers, chosen, len(self._components))
        drawn = []
        for component, mine in zip(self._components, places, strict=True):
            seed = new_seed(seed, "mixture")
            count = array.size(mine)
            event = component.event_shape_tensor()
            rows = array.reshape(
                component.sample(count, seed=seed), array.concat([[count * size], event], 0)
            )  # a row for each draw and member of the batch
            drawn.append(array.gather(rows, range_(count) * size + mine % size))
        stitched = dynamic_stitch(places, drawn)
        sample = array.reshape(stitched, array.concat([shape, self.event_shape_tensor()], 0))
        sample.set_shape(chosen.shape.concatenate(self.event_shape))
        return sample

    def _log_prob(self, x: TensorLike) -> Any:
        weights = log_softmax(self._cat.logits)
        terms = [c.log_prob(x) + weights[..., i] for i, c in enumerate(self._components)]
        return reduce_logsumexp(array.stack(terms, -1), -1)

    def _cdf(self, x: TensorLike) -> Any:
        probs = softmax(self._cat.logits)
        return add_n([c.cdf(x) * probs[..., i] for i, c in enumerate(self._components)])

    def _mean(self) -> Any:
        return self._weighted([c.mean() for c in self._components])

    def _variance(self) -> Any:
        squares = [c.variance() + square(c.mean()) for c in self._components]
        return self._weighted(squares) - square(self._mean())

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Any:
        """The mean of the components' entropies, which the entropy is not below."""
        with self._scope(name):
            return self._weighted_scalars([c.entropy() for c in self._components])

    def _weighted_scalars(self, values: list[Any]) -> Any:
        probs = softmax(self._cat.logits)
        return add_n([probs[..., i] * value for i, value in enumerate(values)])


@RegisterKL(Independent, Independent)
def _kl_independent(a: Any, b: Any, name: str | None = None) -> Any:
    if a.reinterpreted_batch_ndims != b.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between two Independent distributions needs the same reinterpreted_batch_ndims."
        )
    with name_scope(name, "kl_independent"):
        return a._summed(kl_divergence(a.distribution, b.distribution))
