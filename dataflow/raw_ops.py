"""`tf.raw_ops`: a node of any op type, by TensorFlow's names of its inputs and attributes."""

from __future__ import annotations

import functools
import typing  # and nothing from it: `Any` is an op
from collections.abc import Callable

#: Names that `tf.raw_ops` has for inputs and attributes, where nodes are written with others (TensorFlow's
#: ``api_def`` files rename them for Python): name here -> name of the node's.
_RENAMED: dict[str, dict[str, str]] = {
    **{
        reduction: {"axis": "reduction_indices"}
        for reduction in ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
    },
    "ExpandDims": {"axis": "dim"},
    "Select": {"x": "t", "y": "e"},
    "Split": {"axis": "split_dim"},
    "SplitV": {"axis": "split_dim"},
    "Squeeze": {"axis": "squeeze_dims"},
    "Where": {"condition": "input"},
}

#: What is said of ops that are not registered: what their names begin with, and what they were.
_FAMILIES = (
    (
        "BoostedTrees",
        "an op of gradient boosted trees; use tf.estimator.BoostedTreesClassifier",
    ),
    (
        "Collective Nccl AllToAll CrossReplicaSum",
        "a sum over devices or tasks; use tf.add_n, or tf.cluster",
    ),
    ("CudnnRNN", "a recurrent layer on NVIDIA's library; use tf.contrib.cudnn_rnn"),
    (
        "LoadTPU RetrieveTPU EnqueueTPU DynamicEnqueueTPU SendTPU RecvTPU TPU ConfigureTPU ConfigureDistributedTPU "
        "ShutdownDistributedTPU Infeed Outfeed Prelinearize IsTPU WorkerHeartbeat",
        "an op for TPUs, of which there are none here; leave it out",
    ),
    (
        "Quantized Requant UniformQuant UniformDequant UniformRequant QuantizeDown",
        "arithmetic on quantized tensors; use tf.dequantize and the op for floats",
    ),
    (
        "If While For Case StatelessIf StatelessWhile StatelessCase PartitionedCall "
        "StatefulPartitionedCall RemoteCall SymbolicGradient FakeParam",
        "control flow over functions; use tf.cond, tf.case, tf.while_loop and tf.gradients",
    ),
    (
        "BatchCholesky BatchFFT BatchIFFT BatchMatrix BatchSelfAdjointEig BatchSvd",
        "an older op for many matrices at once; use that without Batch, which takes them too",
    ),
    (
        "CreateSummaryDb",
        "a writer to an SQLite database; use tf.contrib.summary.create_file_writer",
    ),
    (
        "AnonymousIterator AnonymousMulti MultiDeviceIterator IteratorGetDevice",
        "an op of eager iterators; use tf.data.make_initializable_iterator(dataset)",
    ),
    ("Xla", "an op of XLA, which is not here; sessions compile graphs by themselves"),
    ("Sdca", "an op of the SDCA optimizer; use SdcaOptimizerV2, or tf.contrib.linear_optimizer"),
    ("Experimental", "an older name of an op without that prefix; use tf.data.experimental"),
    ("DataService Snapshot SaveDataset LoadDataset", "tf.data of TensorFlow 2; use TFRecord files"),
    ("Lmdb LMDB", "a reader of LMDB; write TFRecord files"),
    (
        "Resource",
        "an op on a resource variable's handle; make the variable by tf.get_variable(use_resource=True) "
        "and call its methods, or tf.train's optimizers",
    ),
    (
        "TensorArray TensorList TensorMap Stack",
        "an op on a handle of tensors; use tf.TensorArray",
    ),
    (
        "SparseMatrix CSRSparseMatrix DenseToCSRSparseMatrix SparseTensorToCSRSparseMatrix",
        "an op on CSR matrices; use tf.SparseTensor and tf.sparse_tensor_dense_matmul",
    ),
)


def __getattr__(name: str) -> Callable[..., typing.Any]:
    from dataflow.graph.registry import all_ops

    if name.startswith("_"):
        raise AttributeError(name)
    op = all_ops().get(name)
    if op is None:
        raise _absent(name)
    names = _RENAMED.get(name, {})

    @functools.wraps(op, updated=())
    def raw(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        if args:
            raise TypeError(
                f"tf.raw_ops.{name} takes keyword arguments only, got {len(args)} without a name."
            )
        return op(**{names.get(key, key): value for key, value in kwargs.items()})

    raw.__name__ = raw.__qualname__ = name
    return raw


def _absent(name: str) -> AttributeError:
    """What to raise for an op type that is not registered: what it was, and what to write instead."""
    from dataflow.graph.registry import all_ops
    from dataflow.namespaces import absent

    for starts, what in _FAMILIES:
        if name.startswith(tuple(starts.split())):
            return AttributeError(
                f"tf.raw_ops.{name} is not part of dataflow. It was {what}.",
                name=name,
                obj=object(),
            )
    # Of versions of an op one is here, under the name that TensorFlow 1's own functions give its nodes.
    stem = name.rstrip("0123456789").removesuffix("V")
    others = [
        other for other in (stem, *(f"{stem}V{i}" for i in range(2, 5))) if other in all_ops()
    ]
    if others:
        return AttributeError(
            f"tf.raw_ops.{name} is not part of dataflow. It was another version of {others[-1]}: use "
            f"tf.raw_ops.{others[-1]}.",
            name=name,
            obj=object(),
        )
    return absent(__name__, name, all_ops())


def __dir__() -> list[str]:
    from dataflow.graph.registry import all_ops

    return sorted(name for name in all_ops() if not name.startswith("_"))
