"""The MNIST tutorials of TensorFlow 1 from end to end: `dataflow run` on scripts and on a notebook.

The programs lie in `classic/`. They read the real images where ``DATAFLOW_DATA`` holds them, else digits
drawn here, in the same files.
"""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataflow_datasets import mnist

ROOT = Path(__file__).resolve().parents[2]
CLASSIC = Path(__file__).resolve().parent / "classic"


def write_idx(path: Path, array: np.ndarray[Any, Any]) -> None:
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes(), compresslevel=1))


def draw_digits(folder: Path) -> None:
    """Ten blurred patterns with noise, as idx files: 2,000 to learn from, 500 to be read."""
    rng = np.random.default_rng(0)
    patterns = rng.random((10, 7, 7)).repeat(4, axis=1).repeat(4, axis=2)
    for images, labels, count in (
        (mnist.TRAIN_IMAGES, mnist.TRAIN_LABELS, 7_000),  # 5,000 of them to validate
        (mnist.TEST_IMAGES, mnist.TEST_LABELS, 500),
    ):
        numbers = rng.integers(0, 10, count).astype(np.uint8)
        noisy = patterns[numbers] * 0.6 + rng.random((count, 28, 28)) * 0.4
        write_idx(folder / images, (noisy * 255).astype(np.uint8))
        write_idx(folder / labels, numbers)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder that the programs are told: one without files where ``DATAFLOW_DATA`` has them."""
    folder = tmp_path_factory.mktemp("MNIST_data")
    given = os.environ.get("DATAFLOW_DATA")
    if not (given and (Path(given) / "mnist" / mnist.TEST_IMAGES).is_file()):
        draw_digits(folder)
    return str(folder)


def run(folder: Path, *arguments: str) -> str:
    """What the program of ``dataflow run ARGUMENTS`` prints in ``folder``, once it has its data."""
    path = os.pathsep.join(str(ROOT / name) for name in (".", "widgets", "datasets"))
    done = subprocess.run(
        [sys.executable, "-m", "dataflow", "run", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "DATAFLOW_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines(keepends=True)
    extracted = [line for line in lines if line.startswith("Extracting ")]
    assert extracted and lines[: len(extracted)] == extracted  # as read_data_sets says of each file
    return "".join(lines[len(extracted) :])


def accuracy(printed: str) -> float:
    return float(printed.splitlines()[-1].removeprefix("accuracy "))


def test_softmax_regression(data_dir: str, tmp_path: Path) -> None:
    program = str(CLASSIC / "mnist_softmax.py")
    printed = run(tmp_path, program, "--data_dir", data_dir, "--steps", "200")
    assert accuracy(printed) >= 0.85


@pytest.mark.slow
def test_two_convolutional_layers(data_dir: str, tmp_path: Path) -> None:
    program = str(CLASSIC / "mnist_deep.py")
    printed = run(tmp_path, program, f"--data_dir={data_dir}", "--max_steps=31")
    assert printed.startswith("step 0, training accuracy 0.")
    assert accuracy(printed) >= 0.5


def test_summaries_and_a_traced_step(data_dir: str, tmp_path: Path) -> None:
    program = str(CLASSIC / "mnist_summaries.py")
    printed = run(tmp_path, program, "--data_dir", data_dir, "--max_steps", "100")
    lines = printed.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == [
        f"Accuracy at step {step}" for step in (0, 50, 100)
    ]
    assert accuracy(printed) >= 0.8
    for part in ("train", "test"):
        (events,) = (tmp_path / "logs" / part).iterdir()
        text = events.read_bytes()
        assert (b"step099" in text) == (part == "train")
        assert b"layer1/biases/summaries/mean" in text


def test_mechanics_with_the_model_that_came_with_tensorflow(data_dir: str, tmp_path: Path) -> None:
    program = str(CLASSIC / "fully_connected_feed.py")
    arguments = ("--max_steps", "201", "--learning_rate", "0.1", "--log_dir", "logs/feed")
    printed = run(tmp_path, program, "--input_data_dir", data_dir, *arguments)
    assert printed.startswith("Step 0: loss = 2.")
    assert accuracy(printed) >= 0.75
    assert (tmp_path / "logs" / "feed" / "model.ckpt-200.meta").is_file()


CELLS = (
    "%matplotlib inline\n"
    "import matplotlib.pyplot as plt\n"
    "import numpy as np\n"
    "import tensorflow as tf\n"
    "from tensorflow.examples.tutorials.mnist import input_data\n"
    "mnist = input_data.read_data_sets(DATA_DIR, one_hot=True)",
    "mnist.train.images.shape[1]",
    "sess = tf.InteractiveSession()\n"
    "x = tf.placeholder('float', shape=[None, 784])\n"
    "y_ = tf.placeholder('float', shape=[None, 10])\n"
    "W = tf.Variable(tf.zeros([784, 10]))\n"
    "b = tf.Variable(tf.zeros([10]))\n"
    "sess.run(tf.initialize_all_variables())\n"
    "y = tf.nn.softmax(tf.matmul(x, W) + b)\n"
    "cross_entropy = -tf.reduce_sum(y_ * tf.log(y))\n"
    "train_step = tf.train.GradientDescentOptimizer(0.003).minimize(cross_entropy)",
    "%%time\n"
    "for i in range(200):\n"
    "    batch = mnist.train.next_batch(50)\n"
    "    train_step.run(feed_dict={x: batch[0], y_: batch[1]})",
    "plt.imshow(np.reshape(W.eval()[:, 3], [28, 28]), cmap='gray')\nplt.show()",
    "correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))\n"
    "accuracy = tf.reduce_mean(tf.cast(correct_prediction, 'float'))\n"
    "print('accuracy', accuracy.eval(feed_dict={x: mnist.test.images, y_: mnist.test.labels}))",
)


def test_a_notebook_of_it(data_dir: str, tmp_path: Path) -> None:
    sources = [cell.replace("DATA_DIR", repr(data_dir)) for cell in CELLS]
    cells = [{"cell_type": "code", "source": s.splitlines(keepends=True)} for s in sources]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 2}
    (tmp_path / "mnist.ipynb").write_text(json.dumps(notebook))
    printed = run(tmp_path, "mnist.ipynb")
    assert printed.splitlines()[0] == "784"
    assert accuracy(printed) >= 0.85
