"""``input_data.read_data_sets``: MNIST with ``next_batch``; the data are `dataflow_datasets`'s."""

from dataflow_datasets.mnist import DataSet, dense_to_one_hot, read_data_sets

__all__ = ["DataSet", "dense_to_one_hot", "read_data_sets"]
