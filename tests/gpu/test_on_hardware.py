"""Every op sample, every lesson, and CUDA graphs on a real GPU, against the CPU in double precision.

Skipped where CuPy finds no GPU; `pytest -m gpu` runs these alone. What they check was developed
with pretend GPUs, which have the same placement, copies and captures.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.cli import doctor
from dataflow.kernels.cuda import matmul
from dataflow.kernels.xp import array_module, gpus, is_device_array, num_pretend_gpus
from tests.gpu import (
    test_batch_norm_cuda,
    test_captured_training,
    test_concat_cuda,
    test_conv_cuda,
    test_cuda_graphs,
    test_dilation_cuda,
    test_elementwise_cuda,
    test_gather_scatter_cuda,
    test_local_response_cuda,
    test_matmul_cuda,
    test_optimizer_updates_cuda,
    test_philox_cuda,
    test_pooling_cuda,
    test_regions_cuda,
    test_row_regions_cuda,
    test_samples_on_pretend_gpu,
    test_softmax_cuda,
    test_sparse_steps_cuda,
    test_whole_sessions,
)
from tests.kernels.test_scatter_at import CASES as SCATTERS, check_scatter
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


@pytest.mark.parametrize("op_type", test_elementwise_cuda.INSTRUCTIONS)
def test_fused_instructions(op_type: str) -> None:
    x = test_elementwise_cuda.SPECIAL
    inputs = [np.repeat(x, 9), np.tile(x, 9)][: test_elementwise_cuda.num_operands(op_type)]
    if op_type.startswith("Logical"):
        inputs = [i > 0 for i in inputs]
    n = len(inputs)
    program = test_elementwise_cuda.Program(n, ((op_type, tuple(range(n))),), "float32")
    import cupy

    result = test_elementwise_cuda.bind_fused(cupy, program)(
        [cupy.asarray(i) for i in inputs]
    ).get()
    np.testing.assert_allclose(result, test_elementwise_cuda.on_cpu(program, inputs), rtol=1e-5)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lessons(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole lessons, whose sessions and tasks choose the GPU, as they do for a learner."""
    test_lessons_run.test_lesson_runs_and_its_exercises_check_themselves(
        path, tmp_path, monkeypatch
    )


def test_replayed_training_is_training() -> None:
    test_cuda_graphs.test_replayed_training_is_training()


def test_a_capture_is_in_nobodys_way() -> None:
    """Others compute on the default stream while steps are captured, and go on to do so."""
    stopped = threading.Event()
    errors: list[BaseException] = []

    def compute() -> None:
        try:
            with tf.Graph().as_default(), tf.Session() as session:
                x = tf.placeholder(tf.float32, [None])
                total = tf.reduce_sum(tf.sqrt(x))
                size = 0
                while not stopped.is_set():
                    size = size % 500 + 1  # shapes that change: never captured
                    assert session.run(total, {x: np.full(size, 4, np.float32)}) == 2 * size
        except BaseException as error:
            errors.append(error)

    other = threading.Thread(target=compute)
    other.start()
    try:
        for _ in range(5):
            with tf.Graph().as_default():
                test_cuda_graphs.test_replayed_training_is_training()
    finally:
        stopped.set()
        other.join(60)
    assert not errors and not other.is_alive()


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


@pytest.fixture
def cupy() -> Any:
    return array_module("gpu:0")


@pytest.mark.parametrize("name", test_conv_cuda.CASES)
def test_convolution(cupy: Any, name: str) -> None:
    test_conv_cuda.check_case(cupy, test_conv_cuda.CASES[name])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_large_convolution(cupy: Any, dtype: str) -> None:
    case = test_conv_cuda.Case(dtype, (32, 28, 27, 32), (5, 3), 64, (1, 2), (1, 1))
    test_conv_cuda.check_case(cupy, case)


@pytest.mark.parametrize("name", test_conv_cuda.DEPTHWISE)
def test_depthwise(cupy: Any, name: str) -> None:
    test_conv_cuda.check_depthwise(cupy, test_conv_cuda.DEPTHWISE[name])


@pytest.mark.parametrize("name", test_pooling_cuda.CASES)
def test_pooling(cupy: Any, name: str) -> None:
    test_pooling_cuda.check_case(cupy, name)


@pytest.mark.parametrize("shape", [*test_softmax_cuda.SHAPES, (5000, 10), (70, 50_000)], ids=str)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_softmax_and_cross_entropies(cupy: Any, shape: tuple[int, int], dtype: str) -> None:
    test_softmax_cuda.check_rows(cupy, shape, dtype)


@pytest.mark.parametrize(("shape", "data_format", "dtype"), test_batch_norm_cuda.CASES)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(cupy: Any, shape: Any, data_format: str, dtype: str, training: bool) -> None:
    test_batch_norm_cuda.check_batch_norm(cupy, shape, data_format, dtype, training)


@pytest.mark.parametrize("op", ["Add", "Sub", "Update"])
@pytest.mark.parametrize(
    "case", [*test_gather_scatter_cuda.CHANGES, ((50_000, 128), 65_536, "float32", "int64")]
)
def test_rows_are_changed(cupy: Any, op: str, case: Any) -> None:
    test_gather_scatter_cuda.check_change(cupy, op, *case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8"])
@pytest.mark.parametrize("name", test_dilation_cuda.CASES)
def test_dilation(cupy: Any, name: str, dtype: str) -> None:
    test_dilation_cuda.check_case(cupy, name, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("case", test_local_response_cuda.CASES, ids=str)
def test_local_response_normalization(cupy: Any, case: Any, dtype: str) -> None:
    test_local_response_cuda.check_case(cupy, case, dtype)


@pytest.mark.parametrize("shape", [(5, 7), (3, 2, 9), (0, 4), (1, 1), (300, 4097)], ids=str)
@pytest.mark.parametrize("joined", [(), ((0, 3),), ((3, 1), (2, 0))], ids=str)
def test_regions(cupy: Any, shape: Any, joined: Any) -> None:
    test_regions_cuda.check_region(cupy, shape, joined, "float32")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [*test_row_regions_cuda.SHAPES, (4096, 1024)], ids=str)
def test_regions_of_rows(cupy: Any, shape: tuple[int, ...], dtype: str) -> None:
    test_row_regions_cuda.check_rows(cupy, shape, dtype)


@pytest.mark.parametrize("name", test_row_regions_cuda.NAMES)
def test_graphs_of_rows(name: str) -> None:
    test_row_regions_cuda.check_graph(name, [None, 6])


@pytest.mark.parametrize("name", test_regions_cuda.FORMULAS)
def test_formulas(cupy: Any, name: str) -> None:
    test_regions_cuda.check_formula(cupy, name)


@pytest.mark.parametrize("name", test_optimizer_updates_cuda.OPTIMIZERS)
def test_steps_on_rows_are_captured(name: str) -> None:
    optimizer = test_optimizer_updates_cuda.OPTIMIZERS[name]
    session, got, _ = test_sparse_steps_cuda.train(optimizer, np.float32, None)
    reasons = [p.cuda_graphs.reason for p in test_cuda_graphs.plans(session)]
    assert test_cuda_graphs.num_captured(session) == 1, reasons
    want = test_sparse_steps_cuda.train(optimizer, np.float32, test_sparse_steps_cuda.ON_CPU)[1]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("name", "dtype"), SCATTERS)
def test_scatter_at(cupy: Any, name: str, dtype: str) -> None:
    check_scatter(cupy, name, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_rows_of_one_number_are_added_up(cupy: Any, dtype: str) -> None:
    test_sparse_steps_cuda.check_sum(cupy, dtype, 300)


@pytest.mark.parametrize("name", test_matmul_cuda.CASES)
def test_cublas_without_cupy(cupy: Any, name: str) -> None:
    """The calls that are captured, made at once on CuPy's stream."""
    a, b = (np.asarray(x) for x in test_matmul_cuda.CASES[name])
    own = matmul.cublas_of(cupy)
    assert isinstance(own, matmul.CuBLAS), own.reason
    left, right = cupy.asarray(a), cupy.asarray(b)  # nothing of the host is copied in the block
    with test_matmul_cuda.capturing(own, cupy.cuda.get_current_stream(), cupy):
        product = matmul.product(cupy, left, right)
    got = product.get()
    rtol = 2e-3 if name == "half" else 1e-5
    np.testing.assert_allclose(got, np.matmul(a, b), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("kind", ["batch", "weight decay", "convolution", "recurrent"])
def test_networks_with_products_are_captured(kind: str) -> None:
    losses, session = test_matmul_cuda.train(kind, None)
    reasons = [p.cuda_graphs.reason for p in session._plans.values() if p.cuda_graphs]
    assert test_cuda_graphs.num_captured(session) == 1, reasons
    want, _ = test_matmul_cuda.train(kind, tf.ConfigProto(device_count={"GPU": 0}))
    np.testing.assert_allclose(losses, want, rtol=1e-3)


def test_two_sessions_at_once() -> None:
    test_whole_sessions.check_two_sessions()


def test_an_error_in_a_kernel_names_its_node() -> None:
    test_whole_sessions.check_error_names_its_node()


def test_an_interrupt_ends_a_run() -> None:
    test_whole_sessions.check_interrupt()


def test_arrays_of_a_gpu_can_be_fed() -> None:
    test_whole_sessions.check_feeds()


def test_what_is_fed_from_a_gpu_is_computed_there() -> None:
    test_whole_sessions.check_feeds_stay()


def test_a_transformer_block_trains_in_halves() -> None:
    test_whole_sessions.check_halves()


def test_doctor_names_the_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    finding = next(f for f in doctor.examine() if f.name == "CuPy and GPUs")
    assert finding.status == "ok", finding
    assert gpus()[0].description in finding.found


def test_training_on_a_tasks_gpu() -> None:
    """A task in this process, whose nodes go to the GPU."""
    server = tf.train.Server.create_local_server()
    try:
        x = tf.placeholder(tf.float32, [None, 3])
        w = tf.get_variable("w", initializer=np.ones((3, 1), np.float32))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 2.0))
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
        data = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)
        with tf.Session(server.target) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step], {x: data})[0] for _ in range(6)]
            assert any("GPU" in device.name for device in session.list_devices())
        held = dict(server.resources.items("variable"))
        assert is_device_array(held["w"].array)
    finally:
        server.stop()
    with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
        session.run(tf.global_variables_initializer())
        want = [session.run([loss, step], {x: data})[0] for _ in range(6)]
    np.testing.assert_allclose(losses, want, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_random_numbers(cupy: Any, dtype: str) -> None:
    test_philox_cuda.check_numbers(cupy, dtype)


@pytest.mark.parametrize("op", ["Add", "Sub", "Update", "Sum"])
@pytest.mark.parametrize("length", [1, 6, 128])
def test_runs_of_a_number(cupy: Any, length: int, op: str) -> None:
    runs = test_gather_scatter_cuda.RUNS.values()
    for lengths in (*runs, [20_000, 7, 33_000, 1, 1, 64] + [2] * 500):
        test_gather_scatter_cuda.check_runs(cupy, lengths, length, op)


@pytest.mark.parametrize("count", [1, 700, 1_000_003])
def test_numbers_in_order(cupy: Any, count: int) -> None:
    numbers = np.random.RandomState(0).randint(0, 90_000, count)
    keys, order = test_gather_scatter_cuda.radix_sort.in_order(cupy, cupy.asarray(numbers), 90_000)
    want = np.argsort(numbers, kind="stable")
    np.testing.assert_array_equal(order.get(), want)
    np.testing.assert_array_equal(keys.get(), numbers[want])


@pytest.mark.parametrize("name", test_concat_cuda.CASES)
def test_arrays_are_put_together(cupy: Any, name: str) -> None:
    test_concat_cuda.check_case(cupy, name)
    test_concat_cuda.check_stack(cupy)


def test_sums_of_rows_are_the_same_in_every_run(cupy: Any) -> None:
    rng = np.random.RandomState(0)
    numbers = cupy.asarray((rng.zipf(1.2, 65_536) - 1) % 50_000)
    updates = cupy.asarray(rng.randn(65_536, 128).astype(np.float32))
    results = []
    for _ in range(3):
        x = cupy.zeros((50_000, 128), np.float32)
        test_gather_scatter_cuda.gather_scatter.change_rows(cupy, "Add", x, numbers, updates)
        results.append(x.get())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("name", test_captured_training.BUILDS)
def test_what_the_host_does_is_done_before_a_captured_step(name: str) -> None:
    test_captured_training.check_captured(test_captured_training.BUILDS[name])


def test_a_step_with_an_embedding_and_labels_is_captured() -> None:
    session, _ = test_gather_scatter_cuda.train_embedding()
    assert test_cuda_graphs.num_captured(session) == 1


def test_tf32_is_off_unless_enabled() -> None:
    """1 + 2^-12 survives a product; with TF32 it does not, on an A100 and later."""
    config = tf.config.experimental
    fine = np.full((512, 512), 1 + 2**-12, np.float32)

    def product() -> float:
        with tf.Graph().as_default(), tf.Session() as session:
            return float(session.run(tf.matmul(tf.constant(fine), tf.eye(512)))[3, 5])

    assert product() == fine[0, 0]
    config.enable_tensor_float_32_execution(True)
    try:
        import cupy

        if int(cupy.cuda.Device().compute_capability) >= 80:
            assert product() != fine[0, 0] and abs(product() - 1) < 2**-9
    finally:
        config.enable_tensor_float_32_execution(False)
    assert product() == fine[0, 0]
