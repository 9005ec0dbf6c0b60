"""Samples of checkpoints: what is written comes back."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from tests.samples.base import Sample

MATRIX = np.arange(6, dtype=np.float32).reshape(3, 2)
COUNTS = np.array([1, 2], np.int64)
WORDS = np.array([b"a", b"", b"\xff\x00b"], object)
NAMES = ["matrix", "counts", "words"]


def saved(tf: Any, prefix: str, tensors: Any, names: Any = NAMES, specs: Any = None) -> Any:
    from dataflow.ops import checkpoint

    return checkpoint.save_v2(prefix, names, specs or [""] * len(names), list(tensors))


def folder() -> Any:
    """An empty folder that lives as long as the process."""
    return tempfile.mkdtemp(prefix="dataflow-sample-", dir=_root.name)


_root = tempfile.TemporaryDirectory(prefix="dataflow-samples-")


def round_trip(tf: Any, *tensors: Any) -> Any:
    from dataflow.ops import checkpoint

    prefix = os.path.join(folder(), "model")
    with tf.control_dependencies([saved(tf, prefix, tensors)]):
        return list(
            checkpoint.restore_v2(prefix, NAMES, [""] * 3, dtypes=[tf.float32, tf.int64, tf.string])
        )


def parts(tf: Any, matrix: Any) -> Any:
    """Two partitions are saved as one whole, of which any part can be read."""
    from dataflow.ops import checkpoint

    prefix = os.path.join(folder(), "model")
    specs = ["3 2 0,1:0,2", "3 2 1,2:0,2"]
    save = saved(tf, prefix, [matrix[:1], matrix[1:]], ["matrix", "matrix"], specs)
    with tf.control_dependencies([save]):
        return list(
            checkpoint.restore_v2(
                prefix,
                ["matrix", "matrix"],
                ["", "3 2 1,1:-"],
                dtypes=[tf.float32, tf.float32],
            )
        )


def merged(tf: Any, matrix: Any) -> Any:
    """Two shards, each with a part, become one checkpoint."""
    from dataflow.ops import checkpoint

    where = folder()
    base, prefix = os.path.join(where, "shards", "part"), os.path.join(where, "model")
    names, saves = [], []
    for shard, (part, spec) in enumerate(
        [(matrix[:1], "3 2 0,1:0,2"), (matrix[1:], "3 2 1,2:0,2")]
    ):
        name = checkpoint.sharded_filename(base, shard, 2)
        names.append(name)
        saves.append(saved(tf, name, [part], ["matrix"], [spec]))
    with tf.control_dependencies(saves):
        merge = checkpoint.merge_v2_checkpoints(tf.stack(names), prefix)
    with tf.control_dependencies([merge]):
        return checkpoint.restore_v2(prefix, ["matrix"], [""], dtypes=[tf.float32])[0]


def sharded(tf: Any) -> Any:
    from dataflow.ops import checkpoint

    return checkpoint.sharded_filename("a/b", 3, 12)


def filespec(tf: Any) -> Any:
    from dataflow.ops import checkpoint

    return checkpoint.sharded_filespec("a/b", 12)


NOTE = "TensorFlow's op writes other files"

SAMPLES = [
    Sample(
        "SaveV2",
        round_trip,
        (MATRIX, COUNTS, WORDS),
        lambda *arrays: list(arrays),
        gradient=(),
        oracle=False,
        note=NOTE,
    ),
    Sample(
        "RestoreV2",
        parts,
        (MATRIX,),
        lambda m: [m, m[1:2]],
        gradient=(),
        oracle=False,
        note=NOTE,
    ),
    Sample(
        "MergeV2Checkpoints", merged, (MATRIX,), lambda m: m, gradient=(), oracle=False, note=NOTE
    ),
    Sample("ShardedFilename", sharded, (), b"a/b-00003-of-00012", oracle=False, note="built here"),
    Sample("ShardedFilespec", filespec, (), b"a/b-?????-of-00012", oracle=False, note="built here"),
]
