"""A sample of every file of kernels, run as `dataflow run` runs a program."""

from __future__ import annotations

from tests.shim.test_as_tensorflow import result_of


def test_a_sample_of_every_kernel_file_runs_as_tensorflow() -> None:
    """Under the import hook no kernel file is missed, whatever its name and that of the op's own file."""
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import tensorflow as tf
from dataflow.graph.registry import all_ops
from dataflow.kernels import loader
from tests.samples import all_samples

samples = {}
for sample in all_samples():
    if sample.op not in samples or samples[sample.op].expected is None:
        samples[sample.op] = sample

def run(sample):
    with tf.Graph().as_default(), tf.Session() as session:
        built = sample.build(tf, *[tf.constant(value) for value in sample.inputs])
        if sample.setup is not None:
            sample.setup(tf, session)
        values = session.run(list(built) if isinstance(built, (list, tuple)) else [built])
        if sample.expected is None or sample.random:
            return
        wanted = sample.expected
        if callable(wanted):
            wanted = wanted(*sample.arrays())
        if len(values) == 1 and not isinstance(wanted, (list, tuple)):
            wanted = [wanted]
        for value, want in zip(values, wanted, strict=True):
            if np.asarray(want).dtype.kind in "fc":
                np.testing.assert_allclose(value, want, rtol=sample.rtol, atol=sample.atol)
            else:
                np.testing.assert_array_equal(value, want)

def files_of_kernels():
    return {k.function.__module__ for (_, device), k in loader.registered_kernels().items() if device == "cpu"}

run(samples["Cholesky"])  # the first kernel of all: its op stands in a file of another name
loader.all_kernels()
files, wrong, missed = {}, {}, {}
for (op_type, device), kernel in sorted(loader.registered_kernels().items()):
    if device == "cpu" and op_type in samples:
        files.setdefault(kernel.function.__module__, op_type)
for file, op_type in files.items():
    try:
        run(samples[op_type])
    except Exception as error:
        wrong[file] = f"{op_type}: {type(error).__name__}: {error}"

# Of each op, what a process that has no kernel yet does: nothing is registered, no file tried.
loader.registered_kernels = dict
for op_type, definition in all_ops().items():
    loader._tried.clear()
    try:
        loader.get_kernel(op_type, "cpu", definition.family)
    except Exception as error:
        missed[op_type] = f"{type(error).__name__}: {error}"
result = [sorted(files_of_kernels() - set(files)), wrong, missed, len(files), len(all_ops())]
"""
    )
    without_sample, wrong, missed, num_files, num_ops = found
    assert without_sample == []
    assert wrong == {}
    assert missed == {}
    assert num_files > 60 and num_ops > 500
