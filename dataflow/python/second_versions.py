"""Functions of ``tensorflow.python.ops`` by the names of their second versions: `squeeze_v2`, `dropout_v2`.

They are those of `tf.compat.v2`, which is loaded when one is asked for.
"""

from __future__ import annotations

import functools
from typing import Any

#: name without ``_v2`` -> where `tf.compat.v2` has it, if elsewhere than at its top
_PLACES = {
    "count_nonzero": "math.count_nonzero",
    "crop_and_resize": "image.crop_and_resize",
    "extract_image_patches": "image.extract_patches",
    "reduce_join": "strings.reduce_join",
    "string_length": "strings.length",
    "substr": "strings.substr",
    **{
        name: f"nn.{name}"
        for name in [
            "conv1d",
            "conv2d",
            "conv2d_transpose",
            "conv3d",
            "convolution",
            "crelu",
            "dropout",
            "embedding_lookup",
            "embedding_lookup_sparse",
            "fractional_max_pool",
            "log_softmax",
            "pool",
            "safe_embedding_lookup_sparse",
            "sparse_softmax_cross_entropy_with_logits",
        ]
    },
    **{
        f"assert_{name}": f"debugging.assert_{name}"
        for name in [
            "equal",
            "greater",
            "greater_equal",
            "integer",
            "less",
            "less_equal",
            "near",
            "negative",
            "non_negative",
            "non_positive",
            "none_equal",
            "positive",
            "rank",
            "rank_at_least",
            "rank_in",
            "scalar",
            "type",
        ]
    },
}
_AT_TOP = frozenset(
    [
        "argmax",
        "argmin",
        "boolean_mask",
        "expand_dims",
        "gather_nd",
        "ones_like",
        "shape",
        "size",
        "space_to_batch",
        "squeeze",
        "transpose",
        "zeros_like",
    ]
)
#: What TensorFlow 1 has under its own name.
_FIRST = {
    f"reduce_{what}_v1" for what in ["all", "any", "logsumexp", "max", "mean", "min", "prod", "sum"]
}


def __getattr__(name: str) -> Any:
    plain = name.removesuffix("_v2")
    if name in _FIRST:
        import dataflow

        return getattr(dataflow, name.removesuffix("_v1"))
    if plain != name and (plain in _AT_TOP or plain in _PLACES):
        from dataflow.compat import v2

        return functools.reduce(getattr, _PLACES.get(plain, plain).split("."), v2)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({f"{name}_v2" for name in (*_AT_TOP, *_PLACES)} | _FIRST)
