"""The arguments of an estimator: its model function, hooks, listeners, and the predictions to keep."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dataflow.train.saving_hooks import CheckpointSaverListener
from dataflow.train.session_run_hook import SessionRunHook


class WarmStartSettings(NamedTuple):
    """Which variables start with the values of which checkpoint; see `tf.train.warm_start`."""

    ckpt_to_initialize_from: Any
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Any = {}  # nobody changes them
    var_name_to_prev_var_name: Any = {}


def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
    names = []
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        names.append(name)
    return tuple(names)


def check_model_fn(model_fn: Any, params: Any) -> tuple[str, ...]:
    """The names of its arguments; raises `ValueError` for ones that are unknown or missing."""
    names = argument_names(model_fn)
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is "
            "passed to Estimator."
        )
    unknown = sorted(set(names) - {"features", "labels", "mode", "params", "config", "self"})
    if unknown:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unknown}")
    return names


def checked_hooks(hooks: Sequence[Any]) -> list[Any]:
    """The hooks as a list; raises `TypeError` for anything else."""
    result = list(hooks or [])
    for hook in result:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return result


def checked_listeners(listeners: Any) -> list[Any]:
    """The checkpoint listeners as a list; raises `TypeError` for anything else."""
    result = list(listeners or [])
    for listener in result:
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(
                f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}"
            )
    return result


def picked(predictions: Any, keys: Any) -> Any:
    """The predictions with these keys, all of them by default. Raises `ValueError` if there are none."""
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    wanted = [keys] if isinstance(keys, str) else list(keys)
    result = {key: value for key, value in predictions.items() if key in wanted}
    if not result:
        raise ValueError(
            f"Expected to run at least one output from {sorted(predictions)}, provided {wanted}."
        )
    return result


def rows_of(values: Any) -> Iterator[Any]:
    """The predictions of a batch, example by example; raises `ValueError` where lengths differ."""
    if not isinstance(values, dict):
        yield from values
        return
    lengths = {key: len(value) for key, value in values.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"Batch length of predictions should be same: {lengths}. Use "
            "yield_single_examples=False for predictions that are not one for each example."
        )
    for i in range(next(iter(lengths.values()), 0)):
        yield {key: value[i] for key, value in values.items()}
