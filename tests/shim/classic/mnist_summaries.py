"""The TensorBoard tutorial of its time: summaries, a merged fetch and a trace of one step."""

import argparse
import os

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

parser = argparse.ArgumentParser()
parser.add_argument("--data_dir", default=os.path.join(os.getenv("TEST_TMPDIR", "/tmp"), "mnist"))
parser.add_argument("--log_dir", default="logs")
parser.add_argument("--max_steps", type=int, default=1000)
FLAGS = parser.parse_args()

mnist = input_data.read_data_sets(FLAGS.data_dir, fake_data=False)
sess = tf.InteractiveSession()

with tf.name_scope("input"):
    x = tf.placeholder(tf.float32, [None, 784], name="x-input")
    y_ = tf.placeholder(tf.int64, [None], name="y-input")
with tf.name_scope("input_reshape"):
    tf.summary.image("input", tf.reshape(x, [-1, 28, 28, 1]), 10)


def variable_summaries(var):
    with tf.name_scope("summaries"):
        mean = tf.reduce_mean(var)
        tf.summary.scalar("mean", mean)
        with tf.name_scope("stddev"):
            stddev = tf.sqrt(tf.reduce_mean(tf.square(var - mean)))
        tf.summary.scalar("stddev", stddev)
        tf.summary.scalar("max", tf.reduce_max(var))
        tf.summary.histogram("histogram", var)


def nn_layer(input_tensor, input_dim, output_dim, layer_name, act=tf.nn.relu):
    with tf.name_scope(layer_name):
        with tf.name_scope("weights"):
            weights = tf.Variable(tf.truncated_normal([input_dim, output_dim], stddev=0.1))
            variable_summaries(weights)
        with tf.name_scope("biases"):
            biases = tf.Variable(tf.constant(0.1, shape=[output_dim]))
            variable_summaries(biases)
        with tf.name_scope("Wx_plus_b"):
            preactivate = tf.matmul(input_tensor, weights) + biases
            tf.summary.histogram("pre_activations", preactivate)
        activations = act(preactivate, name="activation")
        tf.summary.histogram("activations", activations)
        return activations


hidden1 = nn_layer(x, 784, 100, "layer1")
with tf.name_scope("dropout"):
    keep_prob = tf.placeholder(tf.float32)
    tf.summary.scalar("dropout_keep_probability", keep_prob)
    dropped = tf.nn.dropout(hidden1, keep_prob)
y = nn_layer(dropped, 100, 10, "layer2", act=tf.identity)
with tf.name_scope("cross_entropy"), tf.name_scope("total"):
    cross_entropy = tf.losses.sparse_softmax_cross_entropy(labels=y_, logits=y)
tf.summary.scalar("cross_entropy", cross_entropy)
with tf.name_scope("train"):
    train_step = tf.train.AdamOptimizer(0.003).minimize(cross_entropy)
with tf.name_scope("accuracy"):
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(y, 1), y_), tf.float32))
tf.summary.scalar("accuracy", accuracy)

if tf.gfile.Exists(FLAGS.log_dir):
    tf.gfile.DeleteRecursively(FLAGS.log_dir)
tf.gfile.MakeDirs(FLAGS.log_dir)
merged = tf.summary.merge_all()
train_writer = tf.summary.FileWriter(FLAGS.log_dir + "/train", sess.graph)
test_writer = tf.summary.FileWriter(FLAGS.log_dir + "/test")
tf.global_variables_initializer().run()


def feed_dict(train):
    if train:
        xs, ys = mnist.train.next_batch(100)
        return {x: xs, y_: ys, keep_prob: 0.9}
    return {x: mnist.test.images, y_: mnist.test.labels, keep_prob: 1.0}


for i in range(FLAGS.max_steps + 1):
    if i % 50 == 0:
        summary, acc = sess.run([merged, accuracy], feed_dict=feed_dict(False))
        test_writer.add_summary(summary, i)
        print("Accuracy at step %s: %s" % (i, acc))
    elif i % 100 == 99:
        run_options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        run_metadata = tf.RunMetadata()
        summary, _ = sess.run(
            [merged, train_step],
            feed_dict=feed_dict(True),
            options=run_options,
            run_metadata=run_metadata,
        )
        train_writer.add_run_metadata(run_metadata, "step%03d" % i)
        train_writer.add_summary(summary, i)
    else:
        sess.run(train_step, feed_dict=feed_dict(True))
train_writer.close()
test_writer.close()
print("accuracy", acc)
