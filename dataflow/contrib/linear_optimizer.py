"""``tf.contrib.linear_optimizer``: its class is for programs that import it and train with something else."""

from __future__ import annotations

from typing import Any

__all__ = ["SDCAOptimizer"]


class SDCAOptimizer:
    """Stochastic dual coordinate ascent, which is not here; raises `NotImplementedError`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "SDCAOptimizer is not part of dataflow: it keeps a dual variable for each example in C++. "
            "Use tf.train.FtrlOptimizer, which LinearClassifier has by default."
        )
