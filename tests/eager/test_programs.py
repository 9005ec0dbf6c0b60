"""Whole programs that call `tf.enable_eager_execution` at their start."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
tf.enable_eager_execution()  # a second time changes nothing
assert tf.executing_eagerly()
(images, labels) = np.ones([32, 6, 6, 1], "f"), np.arange(32) % 3
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(32).batch(8)
model = tf.keras.Sequential([
    tf.keras.layers.Conv2D(4, [3, 3], activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(3),
])
optimizer = tf.train.AdamOptimizer()
for batch, (x, y) in enumerate(dataset.take(3)):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(
        zip(grads, model.trainable_variables), global_step=tf.train.get_or_create_global_step()
    )
print("step", tf.train.get_global_step().numpy(), "loss is there", loss.numpy() > 0)
"""

TOO_LATE = """
import tensorflow as tf

x = tf.constant(1.0)
tf.enable_eager_execution()
"""


def run(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "dataflow", "run", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.timeout(180)
def test_a_program_of_its_time_runs(tmp_path):
    done = run(PROGRAM, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "step 3 loss is there True\n"


@pytest.mark.timeout(180)
def test_it_is_too_late_once_a_graph_was_begun(tmp_path):
    done = run(TOO_LATE, tmp_path)
    assert done.returncode == 1
    assert "must be called at program startup" in done.stderr


NEW_GRAPHS = """
import tensorflow as tf

tf.enable_eager_execution()
value = tf.Variable(1.0, name="v")
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
tf.train.get_or_create_global_step().assign(7)
tf.add_to_collection("kept", 1)
tf.set_random_seed(5)
drawn = tf.random.uniform([2]).numpy()
tf.set_random_seed(5)
tf.reset_default_graph()
# values and the seed stay
assert tf.random.uniform([2]).numpy().tolist() == drawn.tolist()
assert tf.train.get_or_create_global_step().numpy() == 0
assert tf.get_collection("kept") == [] and tf.keras.layers.Dense(1).name == "dense"
for name in ("dense_2", "dense_1"):
    old = tf.layers.Dense(1)
    old(tf.ones([1, 1]))
    assert (old.name, old.weights[0].name) == (name, "dense/kernel:0")
    tf.reset_default_graph()
assert (value + 1.0).numpy() == 2.0 and model(tf.ones([3, 1])).shape == [3, 1]
with tf.Graph().as_default():
    try:
        tf.reset_default_graph()
    except AssertionError as e:
        print(e)
"""


@pytest.mark.timeout(180)
def test_a_new_default_graph_begins_anew_with_names_and_the_global_step(tmp_path):
    done = run(NEW_GRAPHS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Do not use tf.reset_default_graph() to clear nested graphs")
