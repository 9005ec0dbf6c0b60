"""Tables that scikit-learn carries, as frames split in two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .tables import split_rows

if TYPE_CHECKING:
    import pandas

Split = tuple[
    tuple["pandas.DataFrame", "pandas.Series[Any]"],
    tuple["pandas.DataFrame", "pandas.Series[Any]"],
]


def load_split(bundle: Any, label_name: str, test_fraction: float, seed: int) -> Split:
    """``(train_x, train_y), (test_x, test_y)`` from a scikit-learn bunch of arrays."""
    import pandas

    frame = pandas.DataFrame(bundle.data, columns=[str(name) for name in bundle.feature_names])
    label = pandas.Series(bundle.target, name=label_name)
    train, test = split_rows(len(frame), test_fraction, seed)
    return (
        (frame.iloc[train].reset_index(drop=True), label.iloc[train].reset_index(drop=True)),
        (frame.iloc[test].reset_index(drop=True), label.iloc[test].reset_index(drop=True)),
    )
