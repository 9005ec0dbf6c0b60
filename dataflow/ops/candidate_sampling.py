"""Samplers of classes, for losses over very many of them (`sampled_losses`).

A sampler draws classes from a fixed or learned distribution Q and says for every class how often
it was to be expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.seeds import seed_attrs
from dataflow.shapes import Dims, list_dims

_SIGNATURE = (
    "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float32, "
    "sampled_expected_count: float32"
)


def _sampler_dims(true_classes: Tensor, num_true: int, num_sampled: int) -> list[Dims]:
    if num_true < 1 or num_sampled < 1:
        raise ValueError(f"num_true ({num_true}) and num_sampled ({num_sampled}) must be positive")
    dims = true_classes.dims
    if dims is not None and (len(dims) != 2 or dims[1] not in (None, num_true)):
        raise ValueError(
            f"true_classes must be [batch, num_true] with num_true={num_true}, got "
            f"{list_dims(dims)}\nFor one class each: tf.expand_dims(labels, 1)."
        )
    return [(num_sampled,), (None if dims is None else dims[0], num_true), (num_sampled,)]


def _sampler(op_type: str, distribution: str) -> OpDef:
    def rule(
        true_classes: Tensor,
        *,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int = 0,
        seed2: int = 0,
    ) -> list[Dims]:
        _check_range(unique, num_sampled, range_max)
        return _sampler_dims(true_classes, num_true, num_sampled)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"Draws ``num_sampled`` classes of ``range_max``, {distribution}.\n\n"
        "With ``unique`` each class at most once. Shape: true_classes [batch, num_true]; the "
        "sample [num_sampled], the expected counts of the true classes [batch, num_true] and of "
        "the sampled ones [num_sampled]. Dtype: int64, counts float32. Not differentiable.\n"
    )
    op = define_op(op_type, _SIGNATURE, stateful=True)(rule)
    not_differentiable(op)
    return op


def _check_range(unique: bool, num_sampled: int, range_max: int) -> None:
    if range_max < 1:
        raise ValueError(f"range_max must be positive, got {range_max}")
    if unique and num_sampled > range_max:
        raise ValueError(
            f"cannot draw {num_sampled} different classes of {range_max}\n"
            "Lower num_sampled or give unique=False."
        )


uniform_sampler_op = _sampler("UniformCandidateSampler", "all equally likely")
log_uniform_sampler_op = _sampler(
    "LogUniformCandidateSampler",
    "class k with probability ``log((k + 2) / (k + 1)) / log(range_max + 1)``: Zipf's law, for "
    "classes numbered by falling frequency",
)
learned_unigram_sampler_op = _sampler(
    "LearnedUnigramCandidateSampler", "as often as each was a true class so far, plus one"
)
thread_unsafe_unigram_sampler_op = _sampler(
    "ThreadUnsafeUnigramCandidateSampler", "as `LearnedUnigramCandidateSampler` does"
)


@define_op("FixedUnigramCandidateSampler", _SIGNATURE, stateful=True)
def fixed_unigram_sampler_op(
    true_classes: Tensor,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: list[float] = (),  # type: ignore[assignment]
    seed: int = 0,
    seed2: int = 0,
) -> list[Dims]:
    """Draws ``num_sampled`` classes in proportion to given counts to the power ``distortion``.

    The counts are ``unigrams``, or the last column of the CSV file ``vocab_file``; the first
    ``num_reserved_ids`` classes are never drawn. Shape and dtype: as the other samplers'.
    Not differentiable.
    """
    if bool(vocab_file) == bool(unigrams):
        raise ValueError("exactly one of vocab_file and unigrams must be given")
    if not 0 <= shard < num_shards:
        raise ValueError(f"shard {shard} is not one of {num_shards}")
    return _sampler_dims(true_classes, num_true, num_sampled)


@define_op("AllCandidateSampler", _SIGNATURE, stateful=True)
def all_candidate_sampler_op(
    true_classes: Tensor,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int = 0,
    seed2: int = 0,
) -> list[Dims]:
    """All classes 0 ... num_sampled - 1, each expected once: the full softmax, to compare with.

    Shape and dtype: as the other samplers'. Not differentiable.
    """
    return _sampler_dims(true_classes, num_true, num_sampled)


@define_op(
    "ComputeAccidentalHits",
    "true_classes: int64, sampled_candidates: int64 -> indices: int32, ids: int64, weights: float32",
)
def compute_accidental_hits_op(
    true_classes: Tensor,
    sampled_candidates: Tensor,
    *,
    num_true: int,
    seed: int = 0,
    seed2: int = 0,
) -> list[Dims]:
    """Where a sampled class is a true one: its row, its place in the sample, and -FLT_MAX.

    Shape: true_classes [batch, num_true], sampled_candidates [n]; three vectors of one unknown
    length. Dtype: int32, int64, float32. Not differentiable.
    """
    dims = true_classes.dims
    if dims is not None and (len(dims) != 2 or dims[1] not in (None, num_true)):
        raise ValueError(f"true_classes must be [batch, {num_true}], got {list_dims(dims)}")
    return [(None,), (None,), (None,)]


not_differentiable(fixed_unigram_sampler_op, all_candidate_sampler_op, compute_accidental_hits_op)


def _sampler_function(op: OpDef, name: str, what: str) -> Callable[..., Any]:
    def sampler(
        true_classes: Any,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
        return op(true_classes, **attrs, range_max=range_max, name=name, **seed_attrs(seed))

    sampler.__name__ = sampler.__qualname__ = name
    sampler.__doc__ = f"Draws classes {what}. See the op `{op.type}`."
    return sampler


uniform_candidate_sampler = _sampler_function(
    uniform_sampler_op, "uniform_candidate_sampler", "that are all equally likely"
)
log_uniform_candidate_sampler = _sampler_function(
    log_uniform_sampler_op, "log_uniform_candidate_sampler", "by Zipf's law"
)
learned_unigram_candidate_sampler = _sampler_function(
    learned_unigram_sampler_op, "learned_unigram_candidate_sampler", "as often as they were seen"
)


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Any = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws classes by given counts. See the op `FixedUnigramCandidateSampler`."""
    return fixed_unigram_sampler_op(
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=[float(u) for u in unigrams],
        name=name,
        **seed_attrs(seed),
    )


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Every class. See the op `AllCandidateSampler`."""
    return all_candidate_sampler_op(
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        name=name,
        **seed_attrs(seed),
    )


def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Where sampled classes are true ones. See the op `ComputeAccidentalHits`."""
    return compute_accidental_hits_op(
        true_classes, sampled_candidates, num_true=num_true, name=name, **seed_attrs(seed)
    )
