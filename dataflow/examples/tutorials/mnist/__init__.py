"""``tensorflow.examples.tutorials.mnist``."""

from dataflow.examples.tutorials.mnist import input_data, mnist
