"""Samples of lookup tables; ``setup`` fills them before the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample


def _fill(tf: Any, session: Any) -> None:
    session.run(tf.tables_initializer())


def _collected(tf: Any, session: Any) -> None:
    session.run(tf.get_collection("prepare"))


def _words(tf: Any) -> Any:
    pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
    return tf.lookup.StaticHashTable(pairs, -1)


def _mutable(tf: Any, op_type: str = "MutableHashTableV2", **attrs: Any) -> Any:
    return raw(tf, op_type, key_dtype=tf.string, value_dtype=tf.float32, **attrs)


def _inserted(tf: Any) -> Any:
    table = _mutable(tf)
    op = raw(tf, "LookupTableInsertV2", table_handle=table, keys=["k", "l"], values=[5.0, 6.0])
    tf.add_to_collection("prepare", op)
    return table


def _find(tf: Any, table: Any, keys: Any, default: Any) -> Any:
    return raw(
        tf, "LookupTableFindV2", table_handle=table, keys=keys, default_value=tf.constant(default)
    )


def _rows(tf: Any) -> Any:
    table = _mutable(tf, "MutableHashTableOfTensorsV2", value_shape=[2])
    op = raw(tf, "LookupTableImportV2", table_handle=table, keys=["k"], values=[[1.0, 2.0]])
    tf.add_to_collection("prepare", op)
    return _find(tf, table, ["k", "z"], [0.0, -1.0])


def _removed(tf: Any) -> Any:
    table = _mutable(tf)
    put = raw(tf, "LookupTableInsertV2", table_handle=table, keys=["k", "l"], values=[5.0, 6.0])
    with tf.control_dependencies([put]):
        op = raw(tf, "LookupTableRemoveV2", table_handle=table, keys=["k", "none"])
    tf.add_to_collection("prepare", op)
    return raw(tf, "LookupTableSizeV2", table_handle=table)


def _initialized(tf: Any) -> Any:
    table = raw(tf, "HashTableV2", key_dtype=tf.int64, value_dtype=tf.string)
    keys = tf.constant([3, 4], tf.int64)
    op = raw(tf, "InitializeTableV2", table_handle=table, keys=keys, values=["c", "d"])
    tf.add_to_collection("prepare", op)
    return _find(tf, table, tf.constant([4, 5], tf.int64), "?")


def _from_file(tf: Any) -> Any:
    path = __file__  # any text file: its first line is the docstring above
    table = raw(tf, "HashTableV2", key_dtype=tf.int64, value_dtype=tf.string)
    op = raw(
        tf,
        "InitializeTableFromTextFileV2",
        table_handle=table,
        filename=path,
        key_index=-1,
        value_index=-2,
        vocab_size=1,
    )
    tf.add_to_collection("prepare", op)
    return _find(tf, table, tf.constant([0, 9], tf.int64), "?")


SAMPLES = [
    Sample(
        "HashTableV2",
        lambda tf: _words(tf).lookup(tf.constant(["b", "z"])),
        (),
        [[2, -1]],
        setup=_fill,
    ),
    Sample("LookupTableSizeV2", lambda tf: _words(tf).size(), (), 2, setup=_fill),
    Sample(
        "LookupTableExportV2",
        lambda tf: list(_words(tf).export()),
        (),
        [np.array([b"a", b"b"], object), [1, 2]],
        setup=_fill,
        oracle=False,
        note="TensorFlow's order is that of its hashes",
    ),
    Sample(
        "MutableHashTableV2",
        lambda tf: _find(tf, _inserted(tf), ["l", "m"], -1.0),
        (),
        np.array([6, -1], "f"),
        setup=_collected,
    ),
    Sample(
        "LookupTableInsertV2",
        lambda tf: raw(tf, "LookupTableSizeV2", table_handle=_inserted(tf)),
        (),
        2,
        setup=_collected,
    ),
    Sample(
        "LookupTableFindV2",
        lambda tf: _words(tf).lookup(tf.constant([["a"], ["q"]])),
        (),
        [[[1], [-1]]],
        setup=_fill,
    ),
    Sample("LookupTableRemoveV2", _removed, (), 1, setup=_collected),
    Sample(
        "MutableHashTableOfTensorsV2",
        _rows,
        (),
        np.array([[1, 2], [0, -1]], "f"),
        setup=_collected,
    ),
    Sample(
        "LookupTableImportV2",
        _rows,
        (),
        np.array([[1, 2], [0, -1]], "f"),
        setup=_collected,
    ),
    Sample(
        "InitializeTableV2", _initialized, (), [np.array([b"d", b"?"], object)], setup=_collected
    ),
    Sample(
        "InitializeTableFromTextFileV2",
        _from_file,
        (),
        [np.array([f'"""{__doc__.splitlines()[0]}"""'.encode(), b"?"], object)],
        setup=_collected,
    ),
]
