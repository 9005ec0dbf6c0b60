"""What a GPU reaches, each figure beside its floor: ``python -m tests.benchmarks.gpu``.

The floor of what moves memory is the copy bandwidth of the same device, measured in the same run;
PyTorch eager (same precision, TF32 off) is the peer of training steps, where it is installed.
Prints one line per workload: median, floor or peer, ratio, and what the ratio must not exceed where
that was agreed (85% of the bandwidth are a ratio of 1.18). Nothing is asserted.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dataflow as tf


def median_ms(step: Callable[[], Any], wait: Callable[[], Any], repeats: int = 30) -> float:
    """Milliseconds of one step: the median over batches, the device's work included."""
    for _ in range(10):
        step()
    wait()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(5):
            step()
        wait()
        times.append((time.perf_counter() - start) / 5)
    return 1000 * statistics.median(times)


def report(name: str, ms: float, against: str, other_ms: float, most: float | None = None) -> None:
    """One line."""
    line = f"{name:<34}{ms:>10.3f} ms   {against:<28}{other_ms:>10.3f} ms   {ms / other_ms:>7.2f}"
    print(line if most is None else f"{line}{most:>10.2f}")


def copy_ms(cupy: Any, num_bytes: int) -> float:
    """Time to read and write ``num_bytes`` in all, by the device's own copy."""
    a = cupy.empty(num_bytes // 8, np.float32)
    b = cupy.empty_like(a)
    return median_ms(lambda: cupy.copyto(b, a), cupy.cuda.Device().synchronize)


def elementwise(cupy: Any) -> None:
    """Eight element-wise ops on 64 million floats: one read, one write."""
    size = 64 << 20
    with tf.Graph().as_default():
        x = tf.get_variable("x", [size], initializer=tf.random_uniform_initializer(0.1, 1.0))
        y = tf.get_variable("y", [size], initializer=tf.zeros_initializer())
        value = tf.sqrt(tf.exp(-x * x) + tf.tanh(x) * 0.5 + 1.0) - x
        step = tf.assign(y, value).op
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            ms = median_ms(lambda: session.run(step), cupy.cuda.Device().synchronize)
    # The chain reads x and writes its value; the assignment reads and writes it once more.
    floor = copy_ms(cupy, 16 * size)
    report("8 ops on 64M floats, assigned", ms, "copies of the same bytes", floor, 1 / 0.85)


def mlp(cupy: Any) -> None:
    """The MLP of ``make bench``: 784-256-128-10, batch 100, Adam."""
    rng = np.random.RandomState(0)
    images, labels = rng.rand(100, 784).astype(np.float32), rng.randint(0, 10, 100)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [100, 784])
        t = tf.placeholder(tf.int64, [100])
        h = tf.layers.dense(tf.layers.dense(x, 256, tf.nn.relu), 128, tf.nn.relu)
        loss = tf.losses.sparse_softmax_cross_entropy(t, tf.layers.dense(h, 10))
        step = tf.train.AdamOptimizer().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            feeds = {x: images, t: labels}
            ms = median_ms(lambda: session.run(step, feeds), cupy.cuda.Device().synchronize)
    torch_ms = _torch_mlp(images, labels)
    report("MLP step", ms, "PyTorch eager", torch_ms, 0.2)


def cnn(cupy: Any) -> None:
    """The two-layer CNN, batch 256, Adam."""
    rng = np.random.RandomState(0)
    images = rng.rand(256, 28, 28, 1).astype(np.float32)
    labels = rng.randint(0, 10, 256)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [256, 28, 28, 1])
        t = tf.placeholder(tf.int64, [256])
        h = x
        for channels in (32, 64):
            h = tf.layers.conv2d(h, channels, 5, padding="same", activation=tf.nn.relu)
            h = tf.layers.max_pooling2d(h, 2, 2)
        h = tf.layers.dense(tf.layers.flatten(h), 1024, tf.nn.relu)
        loss = tf.losses.sparse_softmax_cross_entropy(t, tf.layers.dense(h, 10))
        step = tf.train.AdamOptimizer().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            feeds = {x: images, t: labels}
            ms = median_ms(lambda: session.run(step, feeds), cupy.cuda.Device().synchronize)
    report("CNN step, batch 256", ms, "PyTorch eager", _torch_cnn(images, labels), 1.5)


def embedding(cupy: Any) -> None:
    """Gather and scatter-add of 65,536 rows of a 50,000 x 128 table."""
    rows = np.random.RandomState(0).randint(0, 50_000, 65_536)
    with tf.Graph().as_default():
        table = tf.get_variable("table", [50_000, 128])
        which = tf.get_variable("which", initializer=rows, trainable=False)
        step = tf.scatter_sub(table, which, tf.gather(table, which)).op
        ms = _run_ms(cupy, step)
    # Rows are read and written; then read again, and each different row is read and written.
    moved = 128 * 4 * (3 * rows.size + 2 * np.unique(rows).size)
    floor = copy_ms(cupy, moved)
    report("gather + scatter, 65,536 rows", ms, "copy of the same bytes", floor, 1 / 0.6)


def _run_ms(cupy: Any, step: Any) -> float:
    """Time of an op of the current graph, whose inputs are variables."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return median_ms(lambda: session.run(step), cupy.cuda.Device().synchronize)


def _variable(*shape: int) -> Any:
    return tf.get_variable(f"v{len(tf.global_variables())}", shape)


#: batch, size of the image, channels, taps, outputs, stride
_CONVOLUTIONS = (
    (256, 14, 32, 5, 64, 1),  # the CNN's second layer
    (256, 28, 1, 5, 32, 1),  # its first
    (64, 56, 64, 3, 64, 1),
    (64, 56, 128, 3, 128, 2),
    (64, 28, 256, 1, 128, 1),
)


def convolution(cupy: Any) -> None:
    """Each of a convolution's three kernels, beside the bare product by cuBLAS, and PyTorch."""
    for batch, size, channels, taps, outputs, stride in _CONVOLUTIONS:
        count = -(-size // stride)
        rows = cupy.ones((batch * count * count, taps * taps * channels), np.float32)
        columns = cupy.ones((rows.shape[1], outputs), np.float32)
        floor = median_ms(lambda a=rows, b=columns: a @ b, cupy.cuda.Device().synchronize)
        del rows, columns
        peer = _torch_convolution(batch, size, channels, taps, outputs, stride)
        for number, kind in enumerate(("", ", to input", ", to filter")):
            with tf.Graph().as_default():
                x, w = (
                    _variable(batch, size, size, channels),
                    _variable(*[taps] * 2, channels, outputs),
                )
                y = tf.nn.conv2d(x, w, [1, stride, stride, 1], "SAME")
                if number:
                    y = tf.gradients(y, [x, w][number - 1], _variable(*y.shape.as_list()))[0]
                ms = _run_ms(cupy, y.op)
            name = f"conv {size}x{size}x{channels}, {taps}x{taps}, {outputs}{kind}"
            report(name, ms, "its product by cuBLAS", floor)
            report(name, ms, "PyTorch eager", peer[number])


def passes(cupy: Any) -> None:
    """What reads and writes memory a few times: pooling, batch norm, softmax losses."""
    shape = (256, 28, 28, 32)
    num_bytes = 4 * int(np.prod(shape))

    def pooled(pool: Any, gradient: bool) -> Any:
        x = _variable(*shape)
        y = pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
        return tf.gradients(y, x, _variable(*y.shape.as_list()))[0].op if gradient else y.op

    def normed(gradient: bool) -> Any:
        x = _variable(*shape)
        y = tf.nn.fused_batch_norm(x, _variable(32), _variable(32))[0]
        return tf.gradients(y, x, _variable(*shape))[0].op if gradient else y.op

    def loss(gradient: bool) -> Any:
        x = _variable(4096, 8192)
        labels = tf.get_variable("labels", initializer=np.arange(4096), trainable=False)
        y = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        return tf.gradients(y, x)[0].op if gradient else y.op

    rows = 4 * 4096 * 8192
    # Name, what is run, and the least that has to be read and written.
    workloads: list[tuple[str, Callable[[], Any], int]] = [
        ("max pool 3x3/2", lambda: pooled(tf.nn.max_pool, False), num_bytes * 5 // 4),
        ("max pool and its gradient", lambda: pooled(tf.nn.max_pool, True), num_bytes * 15 // 4),
        ("average pool", lambda: pooled(tf.nn.avg_pool, False), num_bytes * 5 // 4),
        ("batch norm", lambda: normed(False), 3 * num_bytes),
        ("batch norm and its gradient", lambda: normed(True), 8 * num_bytes),
        ("sparse softmax loss", lambda: loss(False), 2 * rows),
    ]
    for name, build, least in workloads:
        with tf.Graph().as_default():
            ms = _run_ms(cupy, build())
        report(name, ms, "copy of the same bytes", copy_ms(cupy, least))


def tf32(cupy: Any) -> None:
    """A product of 4096 x 4096 matrices, in full and as TF32."""
    times = []
    for enabled in (False, True):
        tf.config.experimental.enable_tensor_float_32_execution(enabled)
        with tf.Graph().as_default():
            times.append(_run_ms(cupy, tf.matmul(_variable(4096, 4096), _variable(4096, 4096)).op))
    tf.config.experimental.enable_tensor_float_32_execution(False)
    report("4096 x 4096 product, TF32", times[1], "in single precision", times[0])


def _torch_convolution(
    batch: int, size: int, channels: int, taps: int, outputs: int, stride: int
) -> list[float]:
    """PyTorch's times of a convolution, its input gradient and its filter gradient."""
    if importlib.util.find_spec("torch") is None:
        return [float("nan")] * 3
    torch = importlib.import_module("torch")
    torch.backends.cudnn.allow_tf32 = False
    x = torch.rand(batch, channels, size, size, device="cuda", requires_grad=True)
    w = torch.rand(outputs, channels, taps, taps, device="cuda", requires_grad=True)

    def forward() -> Any:
        return torch.nn.functional.conv2d(x, w, stride=stride, padding=(taps - 1) // 2)

    y = forward()
    grad = torch.rand_like(y)

    def times(step: Callable[[], Any]) -> float:
        return median_ms(step, torch.cuda.synchronize)

    return [
        times(forward),
        *[
            times(lambda one=one: torch.autograd.grad(y, one, grad, retain_graph=True))
            for one in (x, w)
        ],
    ]


def _torch_step(model: Any, images: Any, labels: Any) -> float:
    torch = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    model = model.cuda()
    optimizer = torch.optim.Adam(model.parameters())
    criterion = torch.nn.CrossEntropyLoss()

    def step() -> None:
        x, t = torch.from_numpy(images).cuda(), torch.from_numpy(labels).cuda()
        optimizer.zero_grad()
        criterion(model(x), t).backward()
        optimizer.step()

    return median_ms(step, torch.cuda.synchronize)


def _torch_mlp(images: Any, labels: Any) -> float:
    if importlib.util.find_spec("torch") is None:
        return float("nan")
    nn = importlib.import_module("torch").nn
    layers = [nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)]
    return _torch_step(nn.Sequential(*layers), images, labels)


def _torch_cnn(images: Any, labels: Any) -> float:
    if importlib.util.find_spec("torch") is None:
        return float("nan")
    nn = importlib.import_module("torch").nn
    layers: list[Any] = []
    for inputs, channels in ((1, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, channels, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10)]
    return _torch_step(nn.Sequential(*layers), images.transpose(0, 3, 1, 2).copy(), labels)


def main() -> int:
    """Runs every workload."""
    if importlib.util.find_spec("cupy") is None or not tf.test.is_gpu_available():
        print("no GPU that CuPy can use: pip install 'dataflow-learn[gpu]'")
        return 1
    cupy = importlib.import_module("cupy")
    print(
        f"{'workload':<34}{'median':>13}   {'against':<28}{'its median':>13}   {'ratio':>7}{'at most':>10}"
    )
    for workload in (elementwise, mlp, cnn, embedding, convolution, passes, tf32):
        workload(cupy)
    return 0


if __name__ == "__main__":
    sys.exit(main())
