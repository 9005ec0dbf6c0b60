"""The message of a ``saved_model.pb``, which the ``tensorboard`` package does not ship."""

from dataflow.train.saved_model_messages import readable_class

__all__ = ["SavedModel"]

SavedModel = readable_class()
DESCRIPTOR = SavedModel.DESCRIPTOR.file
