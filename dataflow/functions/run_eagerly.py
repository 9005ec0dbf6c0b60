"""Whether functions under `tf.function` are traced."""

from __future__ import annotations

_eagerly = {"run": False}


def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether eager code runs functions under `tf.function` line by line, as if they were not: to debug them."""
    _eagerly["run"] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """What `experimental_run_functions_eagerly` was told last; False at first."""
    return _eagerly["run"]
