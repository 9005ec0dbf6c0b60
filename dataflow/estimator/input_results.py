"""Splits what an input function returned into features and labels."""

from __future__ import annotations

from typing import Any

from dataflow.data import Dataset, Iterator
from dataflow.train.session_run_hook import SessionRunHook


def split_result(result: Any) -> tuple[Any, Any]:
    """Features and labels of a pair, or of features alone; labels are then None.

    Raises `ValueError` for a tuple or a list of another length.
    """
    if not isinstance(result, (tuple, list)):
        return result, None
    if len(result) != 2:
        raise ValueError(
            "input_fn should return (features, labels) as a tuple of length 2, or features "
            f"alone; it returned {len(result)} things."
        )
    return result[0], result[1]


def parse_input_fn_result(result: Any) -> tuple[Any, Any, list[SessionRunHook]]:
    """Features, labels, and the hooks of what the input function returned: one for a dataset, which starts its iterator."""
    hooks: list[SessionRunHook] = []
    if isinstance(result, Dataset):
        iterator = result.make_initializable_iterator()
        hooks.append(_StartOfIterator(iterator))
        result = iterator.get_next()
    return (*split_result(result), hooks)


class _StartOfIterator(SessionRunHook):
    def __init__(self, iterator: Iterator) -> None:
        self._initializer = iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)
