"""What a GPU reaches, each figure beside its floor: ``python -m tests.benchmarks.gpu``.

The floor of what moves memory is the copy bandwidth of the same device, measured in the same run;
PyTorch eager (same precision, TF32 off) is the peer of training steps, where it is installed.
Prints one line per workload: median, floor or peer, ratio. Nothing is asserted.
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


def report(name: str, ms: float, against: str, other_ms: float) -> None:
    """One line."""
    print(f"{name:<34}{ms:>10.3f} ms   {against:<28}{other_ms:>10.3f} ms   {ms / other_ms:>7.2f}")


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
    report(
        "8 ops on 64M floats, assigned", ms, "copies of the same bytes", copy_ms(cupy, 16 * size)
    )


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
    report("MLP step", ms, "PyTorch eager", torch_ms)


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
    report("CNN step, batch 256", ms, "PyTorch eager", _torch_cnn(images, labels))


def embedding(cupy: Any) -> None:
    """Gather and scatter-add of 65,536 rows of a 50,000 x 128 table."""
    rows = np.random.RandomState(0).randint(0, 50_000, 65_536)
    with tf.Graph().as_default():
        table = tf.get_variable("table", [50_000, 128])
        which = tf.get_variable("which", initializer=rows.astype(np.int64), trainable=False)
        loss = tf.reduce_sum(tf.square(tf.gather(table, which)))
        step = tf.train.GradientDescentOptimizer(1e-3).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            ms = median_ms(lambda: session.run(step), cupy.cuda.Device().synchronize)
    moved = 65_536 * 128 * 4 * 5  # rows read, copied, gradient written, read, rows read and written
    report("gather + scatter, 65,536 rows", ms, "copy of the same bytes", copy_ms(cupy, moved))


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
    print(f"{'workload':<34}{'median':>13}   {'against':<28}{'its median':>13}   {'ratio':>7}")
    for workload in (elementwise, mlp, cnn, embedding):
        workload(cupy)
    return 0


if __name__ == "__main__":
    sys.exit(main())
