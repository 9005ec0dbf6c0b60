"""Every op sample, every lesson, and CUDA graphs on a real GPU, against the CPU in double precision.

Skipped where CuPy finds no GPU; `pytest -m gpu` runs these alone. What they check was developed
with pretend GPUs, which have the same placement, copies and captures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.kernels.xp import gpus, num_pretend_gpus
from tests.gpu import test_cuda_graphs, test_fused_cuda, test_samples_on_pretend_gpu
from tests.lessons import test_lessons as test_lessons_run
from tests.lessons.notebooks import LESSONS
from tests.placement import test_gpu_placement
from tests.samples.base import Sample

pytestmark = [pytest.mark.gpu]


@pytest.fixture(autouse=True)
def a_real_gpu() -> Iterator[None]:
    assert num_pretend_gpus() == 0 and gpus()
    with tf.Graph().as_default():
        yield


SAMPLES = test_samples_on_pretend_gpu.SAMPLES
WITH_GRADIENT = test_samples_on_pretend_gpu.WITH_GRADIENT


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.id for s in SAMPLES])
def test_samples(sample: Sample) -> None:
    test_samples_on_pretend_gpu.test_same_value_as_on_the_cpu(sample)


@pytest.mark.parametrize("sample", WITH_GRADIENT, ids=[s.id for s in WITH_GRADIENT])
def test_slopes(sample: Sample) -> None:
    test_samples_on_pretend_gpu.test_same_gradient_as_on_the_cpu(sample)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        lambda: tf.train.AdamOptimizer(0.01),
        lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5, centered=True),
    ],
    ids=["sgd", "nesterov", "adam", "rmsprop"],
)
def test_training(optimizer: Any) -> None:
    test_gpu_placement.test_training_on_the_gpu_is_training_on_the_cpu(optimizer)


@pytest.mark.parametrize("op_type", test_fused_cuda.INSTRUCTIONS)
def test_fused_instructions(op_type: str) -> None:
    x = test_fused_cuda.SPECIAL
    inputs = [np.repeat(x, 9), np.tile(x, 9)][: test_fused_cuda.num_operands(op_type)]
    if op_type.startswith("Logical"):
        inputs = [i > 0 for i in inputs]
    n = len(inputs)
    program = test_fused_cuda.Program(n, ((op_type, tuple(range(n))),), "float32")
    import cupy

    result = test_fused_cuda.bind_fused(cupy, program)([cupy.asarray(i) for i in inputs]).get()
    np.testing.assert_allclose(result, test_fused_cuda.on_cpu(program, inputs), rtol=1e-5)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lessons(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole lessons, whose sessions and tasks choose the GPU, as they do for a learner."""
    test_lessons_run.test_lesson_runs_and_its_exercises_check_themselves(
        path, tmp_path, monkeypatch
    )


def test_replayed_training_is_training() -> None:
    test_cuda_graphs.test_replayed_training_is_training()


def test_loading_a_value_is_seen_by_the_next_replay() -> None:
    test_cuda_graphs.test_loading_a_value_is_seen_by_the_next_replay()


def test_a_gpu_without_memory_names_the_node() -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.add(tf.reshape(x, [-1, 1]), tf.reshape(x, [1, -1]), name="square")
    options = tf.GPUOptions(per_process_gpu_memory_fraction=0.001)
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="square"):
            session.run(tf.reduce_sum(y), {x: np.ones(200_000, np.float32)})
        assert session.run(tf.reduce_sum(y), {x: np.ones(10, np.float32)}) == 200
    with tf.Session():  # without a limit again
        pass
