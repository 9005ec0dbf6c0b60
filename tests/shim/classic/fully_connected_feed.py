"""The mechanics tutorial of its time: the model of `tutorials.mnist.mnist`, checkpoints, evaluations."""

from __future__ import print_function

import argparse
import os
import sys
import time

from six.moves import xrange  # pylint: disable=redefined-builtin

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data, mnist

FLAGS = None


def do_eval(sess, eval_correct, images_placeholder, labels_placeholder, data_set):
    true_count = 0
    steps_per_epoch = data_set.num_examples // FLAGS.batch_size
    for step in xrange(steps_per_epoch):
        images, labels = data_set.next_batch(FLAGS.batch_size, False)
        true_count += sess.run(
            eval_correct, feed_dict={images_placeholder: images, labels_placeholder: labels}
        )
    return float(true_count) / (steps_per_epoch * FLAGS.batch_size)


def run_training():
    data_sets = input_data.read_data_sets(FLAGS.input_data_dir, False)
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, shape=(FLAGS.batch_size, mnist.IMAGE_PIXELS))
        labels = tf.placeholder(tf.int32, shape=(FLAGS.batch_size))
        logits = mnist.inference(images, FLAGS.hidden1, FLAGS.hidden2)
        loss = mnist.loss(logits, labels)
        train_op = mnist.training(loss, FLAGS.learning_rate)
        eval_correct = mnist.evaluation(logits, labels)
        summary = tf.summary.merge_all()
        init = tf.global_variables_initializer()
        saver = tf.train.Saver()
        sess = tf.Session()
        summary_writer = tf.summary.FileWriter(FLAGS.log_dir, sess.graph)
        sess.run(init)
        for step in xrange(FLAGS.max_steps):
            start_time = time.time()
            batch = data_sets.train.next_batch(FLAGS.batch_size, False)
            feed_dict = dict(zip((images, labels), batch))
            _, loss_value = sess.run([train_op, loss], feed_dict=feed_dict)
            duration = time.time() - start_time
            if step % 100 == 0:
                print("Step %d: loss = %.2f (%.3f sec)" % (step, loss_value, duration))
                summary_writer.add_summary(sess.run(summary, feed_dict=feed_dict), step)
                summary_writer.flush()
            if (step + 1) == FLAGS.max_steps:
                saver.save(sess, os.path.join(FLAGS.log_dir, "model.ckpt"), global_step=step)
                print("accuracy", do_eval(sess, eval_correct, images, labels, data_sets.test))


def main(_):
    if tf.gfile.Exists(FLAGS.log_dir):
        tf.gfile.DeleteRecursively(FLAGS.log_dir)
    tf.gfile.MakeDirs(FLAGS.log_dir)
    run_training()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning_rate", type=float, default=0.01)
    parser.add_argument("--max_steps", type=int, default=2000)
    parser.add_argument("--hidden1", type=int, default=128)
    parser.add_argument("--hidden2", type=int, default=32)
    parser.add_argument("--batch_size", type=int, default=100)
    parser.add_argument("--input_data_dir", type=str, default="input_data")
    parser.add_argument("--log_dir", type=str, default="logs/fully_connected_feed")
    FLAGS, unparsed = parser.parse_known_args()
    tf.app.run(main=main, argv=[sys.argv[0]] + unparsed)
