"""What a GPU reaches, each figure beside its floor: ``python -m tests.benchmarks.gpu``.

``--dry-run`` runs every workload once, small, on a pretend GPU: that nothing is misspelled.

The floor of what moves memory is the copy bandwidth of the same device, measured in the same run;
PyTorch eager (same precision, TF32 off) is the peer of training steps, where it is installed.
Prints one line per workload: median, floor or peer, ratio, and what the ratio must not exceed where
that was agreed (85% of the bandwidth are a ratio of 1.18). Nothing is asserted.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import statistics
import sys
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dataflow as tf
from dataflow.kernels.xp import pretend_gpus, pretend_module


class _Run:
    """How much is run."""

    is_dry = False


def sized(full: int, small: int) -> int:
    """A size, or a small one where only names are tried."""
    return small if _Run.is_dry else full


def median_ms(step: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Milliseconds of one step: the median over batches, the device's work included."""
    for _ in range(sized(10, 6)):  # a plan is captured in its fifth run
        step()
    wait()
    times, steps = [], sized(5, 1)
    for _ in range(sized(30, 1)):
        start = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        times.append((time.perf_counter() - start) / steps)
    return 1000 * statistics.median(times)


def report(name: str, ms: float, against: str, other_ms: float, most: float | None = None) -> None:
    """One line."""
    line = f"{name:<34}{ms:>10.3f} ms   {against:<28}{other_ms:>10.3f} ms   {ms / other_ms:>7.2f}"
    print(line if most is None else f"{line}{most:>10.2f}")


def copy_ms(cupy: Any, num_bytes: int) -> float:
    """Time to read and write ``num_bytes`` in all, by the device's own copy."""
    a = cupy.empty(max(1, num_bytes // 8), np.float32)
    b = cupy.empty_like(a)
    return median_ms(lambda: cupy.copyto(b, a), cupy.cuda.Device().synchronize)


def elementwise(cupy: Any) -> None:
    """Eight element-wise ops on 64 million floats: one read, one write."""
    size = sized(64 << 20, 1 << 10)
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
            ms = median_ms(lambda: session.run(step, feeds), _wait(cupy))
            say_captured("MLP", session)
    torch_ms = _torch_mlp(images, labels)
    report("MLP step", ms, "PyTorch eager", torch_ms, 0.2)


def cnn(cupy: Any) -> None:
    """The two-layer CNN (LeNet's layers, wider), batch 256, Adam."""
    batch = sized(256, 2)
    rng = np.random.RandomState(0)
    images = rng.rand(batch, 28, 28, 1).astype(np.float32)
    labels = rng.randint(0, 10, batch)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [batch, 28, 28, 1])
        t = tf.placeholder(tf.int64, [batch])
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
            ms = median_ms(lambda: session.run(step, feeds), _wait(cupy))
            say_captured("LeNet", session)
    report(f"LeNet step, batch {batch}", ms, "PyTorch eager", _torch_cnn(images, labels), 0.5)


def embedding(cupy: Any) -> None:
    """Gather and scatter-add of 65,536 rows of a 50,000 x 128 table, apart and together."""
    words, count = sized(50_000, 50), sized(65_536, 64)
    rows = np.random.RandomState(0).randint(0, words, count)
    different = np.unique(rows).size
    # What has to be read and written, in rows: what is gathered, and each row that is changed.
    for name, moved in (
        ("gather", 2 * count),
        ("scatter", count + 2 * different),
        ("gather + scatter", 3 * count + 2 * different),
    ):
        with tf.Graph().as_default():
            table = tf.get_variable("table", [words, 128])
            which = tf.get_variable("which", initializer=rows, trainable=False)
            values = tf.get_variable("values", [count, 128])
            found = tf.gather(table, which) if "gather" in name else values
            step = tf.scatter_sub(table, which, found) if "scatter" in name else found
            ms = _run_ms(cupy, step.op)
        floor = copy_ms(cupy, 128 * 4 * moved)
        report(f"{name}, {count:,} rows", ms, "copy of the same bytes", floor, 1 / 0.8)
    padded = rows.copy()
    padded[::2] = 0  # sentences that are padded: half of their words are one
    different = np.unique(padded).size
    with tf.Graph().as_default():
        table = tf.get_variable("table", [words, 128])
        which = tf.get_variable("which", initializer=padded, trainable=False)
        values = tf.get_variable("values", [count, 128])
        ms = _run_ms(cupy, tf.scatter_sub(table, which, values).op)
    floor = copy_ms(cupy, 128 * 4 * (count + 2 * different))
    report("scatter, half of them one row", ms, "copy of the same bytes", floor, 1 / 0.8)
    different = np.unique(rows).size
    for name, optimizer in (("SGD", tf.train.GradientDescentOptimizer), ("Adagrad", _adagrad)):
        with tf.Graph().as_default():
            table = tf.get_variable("table", [words, 128])
            which = tf.placeholder(tf.int32, [count])
            loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, which)))
            step = optimizer(0.01).minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                ms = median_ms(functools.partial(session.run, step, {which: rows}), _wait(cupy))
        slots = 1 if name == "SGD" else 2
        floor = copy_ms(cupy, 128 * 4 * (4 * count + 2 * slots * different))
        report(f"embedding step, {name}", ms, "copy of the same bytes", floor)


def _adagrad(rate: float) -> Any:
    return tf.train.AdagradOptimizer(rate)


def _wait(cupy: Any) -> Callable[[], Any]:
    return cupy.cuda.Device().synchronize  # type: ignore[no-any-return]


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
        batch, size, outputs = sized(batch, 2), sized(size, 8), sized(outputs, 4)
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
    shape = (sized(256, 2), 28, 28, sized(32, 4))
    channels = shape[3]
    num_bytes = 4 * int(np.prod(shape))

    def pooled(pool: Any, gradient: bool) -> Any:
        x = _variable(*shape)
        y = pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
        return tf.gradients(y, x, _variable(*y.shape.as_list()))[0].op if gradient else y.op

    def normed(gradient: bool) -> Any:
        x = _variable(*shape)
        y = tf.nn.fused_batch_norm(x, _variable(channels), _variable(channels))[0]
        return tf.gradients(y, x, _variable(*shape))[0].op if gradient else y.op

    def loss(gradient: bool) -> Any:
        x = _variable(*matrix)
        labels = tf.get_variable(
            "labels", initializer=np.arange(matrix[0]) % matrix[1], trainable=False
        )
        y = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        return tf.gradients(y, x)[0].op if gradient else y.op

    matrix = (sized(4096, 8), sized(8192, 16))
    rows = 4 * matrix[0] * matrix[1]

    def normalized(gradient: bool) -> Any:
        x, scale, offset = _variable(*matrix), _variable(matrix[1]), _variable(matrix[1])
        mean, variance = tf.nn.moments(x, [1], keep_dims=True)
        y = tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)
        return tf.gradients(y, [x], _variable(*matrix))[0].op if gradient else y.op

    # Name, what is run, and the least that has to be read and written.
    workloads: list[tuple[str, Callable[[], Any], int]] = [
        ("max pool 3x3/2", lambda: pooled(tf.nn.max_pool, False), num_bytes * 5 // 4),
        ("max pool and its gradient", lambda: pooled(tf.nn.max_pool, True), num_bytes * 15 // 4),
        ("average pool", lambda: pooled(tf.nn.avg_pool, False), num_bytes * 5 // 4),
        ("batch norm", lambda: normed(False), 3 * num_bytes),
        ("batch norm and its gradient", lambda: normed(True), 8 * num_bytes),
        ("sparse softmax loss", lambda: loss(False), 2 * rows),
        ("softmax", lambda: tf.nn.softmax(_variable(*matrix)).op, 2 * rows),
        ("layer norm", lambda: normalized(False), 2 * rows),
        ("layer norm's gradient", lambda: normalized(True), 3 * rows),
        ("sum of all", lambda: tf.reduce_sum(_variable(*matrix)).op, rows),
        ("sums of rows", lambda: tf.reduce_sum(_variable(*matrix), 1).op, rows),
        ("sums of columns", lambda: tf.reduce_sum(_variable(*matrix), 0).op, rows),
        ("maxima of rows", lambda: tf.reduce_max(_variable(*matrix), 1).op, rows),
        ("squares, summed by rows", lambda: _squares(*matrix), rows),
    ]
    for name, build, least in workloads:
        with tf.Graph().as_default():
            ms = _run_ms(cupy, build())
        report(name, ms, "copy of the same bytes", copy_ms(cupy, least), 1 / 0.8)


def _squares(*shape: int) -> Any:
    return tf.reduce_sum(tf.square(_variable(*shape)), 1).op


def products(cupy: Any) -> None:
    """A product of 4096 x 4096 matrices beside cuBLAS through CuPy alone, in full and as TF32."""
    size = sized(4096, 8)
    a, b = cupy.ones((size, size), np.float32), cupy.ones((size, size), np.float32)
    out = cupy.empty((size, size), np.float32)
    enable = tf.config.experimental.enable_tensor_float_32_execution
    for enabled, name in ((False, "in full"), (True, "TF32")):
        enable(enabled)
        try:
            with tf.Graph().as_default():
                ms = _run_ms(cupy, tf.matmul(_variable(size, size), _variable(size, size)).op)
            floor = median_ms(lambda: cupy.matmul(a, b, out=out), _wait(cupy))
        finally:
            enable(False)
        report(f"{size} x {size} product, {name}", ms, "cuBLAS by CuPy alone", floor, 1 / 0.95)


def transformer(cupy: Any) -> None:
    """A block of a transformer, batch 32 of 128 tokens, 256 wide, 4 heads, Adam."""
    batch, length, width = sized(32, 2), sized(128, 4), sized(256, 8)
    rng = np.random.RandomState(0)
    tokens = rng.randn(batch, length, width).astype(np.float32)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [batch, length, width])
        y = transformer_block(x, 4)
        loss = tf.reduce_mean(tf.square(y))
        step = tf.train.AdamOptimizer().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            feeds = {x: tokens}
            ms = median_ms(lambda: session.run(step, feeds), _wait(cupy))
            say_captured("transformer block", session)
    report("transformer block step", ms, "PyTorch eager", _torch_transformer(tokens, 4), 0.5)


def transformer_block(x: Any, heads: int) -> Any:
    """Attention and a network of two layers, each with a residual and a layer norm: [b, t, d]."""
    _, length, width = x.shape.as_list()
    parts = tf.reshape(tf.layers.dense(x, 3 * width), [-1, length, 3, heads, width // heads])
    query, key, value = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
    scores = tf.matmul(query, key, transpose_b=True) * (width // heads) ** -0.5
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
    h = layer_norm(x + tf.layers.dense(tf.reshape(mixed, [-1, length, width]), width))
    return layer_norm(h + tf.layers.dense(tf.layers.dense(h, 4 * width, tf.nn.relu), width))


def layer_norm(x: Any) -> Any:
    """Along the last axis, with a scale and an offset."""
    width = x.shape.as_list()[-1]
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    names = tf.get_default_graph().unique_name("norm")
    scale = tf.get_variable(f"{names}_scale", [width], x.dtype, tf.ones_initializer())
    offset = tf.get_variable(f"{names}_offset", [width], x.dtype, tf.zeros_initializer())
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)


def say_captured(name: str, session: Any) -> None:
    """Whether a session's steps run as CUDA graphs; the reason where they do not."""
    reasons = [
        p.cuda_graphs.reason if p.cuda_graphs is not None else "its nodes speak against it"
        for p in session._plans.values()
        if len(p.compiled_ops) > 20 and p._runs_left < 0
    ]
    for reason in filter(None, reasons):
        print(f"    {name} is no CUDA graph: {reason}")


def feeds(cupy: Any) -> None:
    """A batch of images fed as a NumPy array and as a CuPy array: 64 MB, and a sum."""
    values = np.ones((sized(16 << 20, 256),), np.float32)
    on_device = cupy.asarray(values)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, values.shape)
        total = tf.reduce_sum(x)
        with tf.Session() as session:
            floor = median_ms(lambda: cupy.asarray(values), _wait(cupy))
            for name, fed in (("NumPy", values), ("CuPy", on_device)):
                ms = median_ms(lambda fed=fed: session.run(total, {x: fed}), _wait(cupy))
                report(f"feed of a {name} array, summed", ms, "CuPy's copy to the GPU", floor)


def overlap(cupy: Any) -> None:
    """Copies beside kernels: feeds of 64 MB to a step that computes about as long as they travel."""
    values = np.ones((sized(4096, 8), sized(4096, 8)), np.float32)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, values.shape)
        w = tf.get_variable("w", values.shape)
        y = x
        for _ in range(4):
            y = tf.matmul(y, w)
        total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
        step = tf.assign(total, tf.reduce_sum(y)).op
        still = tf.get_variable("still", values.shape)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            both = median_ms(lambda: session.run(step, {x: values}), _wait(cupy))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            z = still
            for _ in range(4):
                z = tf.matmul(z, w)
            alone = tf.assign(total, tf.reduce_sum(z)).op
            compute = median_ms(lambda: session.run(alone), _wait(cupy))
    copy = median_ms(lambda: cupy.asarray(values), _wait(cupy))
    report("feed and step", both, "one after the other", copy + compute)
    report("feed and step", both, "the longer of the two", max(copy, compute), 1.2)


def _torch_convolution(
    batch: int, size: int, channels: int, taps: int, outputs: int, stride: int
) -> list[float]:
    """PyTorch's times of a convolution, its input gradient and its filter gradient."""
    if not _has_torch():
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


def _has_torch() -> bool:
    if _Run.is_dry or importlib.util.find_spec("torch") is None:
        return False
    return bool(importlib.import_module("torch").cuda.is_available())


def _torch_transformer(tokens: Any, heads: int) -> float:
    if not _has_torch():
        return float("nan")
    torch = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    width = tokens.shape[2]
    layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, batch_first=True).cuda()
    optimizer = torch.optim.Adam(layer.parameters())

    def step() -> None:
        optimizer.zero_grad()
        layer(torch.from_numpy(tokens).cuda()).square().mean().backward()
        optimizer.step()

    return median_ms(step, torch.cuda.synchronize)


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
    if not _has_torch():
        return float("nan")
    nn = importlib.import_module("torch").nn
    layers = [nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)]
    return _torch_step(nn.Sequential(*layers), images, labels)


def _torch_cnn(images: Any, labels: Any) -> float:
    if not _has_torch():
        return float("nan")
    nn = importlib.import_module("torch").nn
    layers: list[Any] = []
    for inputs, channels in ((1, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, channels, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10)]
    return _torch_step(nn.Sequential(*layers), images.transpose(0, 3, 1, 2).copy(), labels)


class _PretendCupy:
    """As much of CuPy as is measured against, on a pretend GPU."""

    def __init__(self) -> None:
        device = types.SimpleNamespace(synchronize=lambda: None)
        self.cuda = types.SimpleNamespace(Device=lambda: device)

    def __getattr__(self, name: str) -> Any:
        return getattr(pretend_module(0), name)


WORKLOADS = (
    *(elementwise, products, mlp, cnn, transformer, embedding, convolution, passes),
    *(feeds, overlap),
)


def main(arguments: Sequence[str] = ()) -> int:
    """Runs every workload; ``--dry-run``: small, on a pretend GPU."""
    _Run.is_dry = "--dry-run" in arguments
    with pretend_gpus(1) if _Run.is_dry else contextlib.nullcontext():
        if _Run.is_dry:
            cupy: Any = _PretendCupy()
        elif importlib.util.find_spec("cupy") is None or not tf.test.is_gpu_available():
            print("no GPU that CuPy can use: pip install 'dataflow-learn[gpu]'")
            return 1
        else:
            cupy = importlib.import_module("cupy")
        print(
            f"{'workload':<34}{'median':>13}   {'against':<28}{'its median':>13}   "
            f"{'ratio':>7}{'at most':>10}"
        )
        for workload in WORKLOADS:
            workload(cupy)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
