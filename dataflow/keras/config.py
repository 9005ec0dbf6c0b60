"""`tf.keras.config`: whether code in files may be loaded."""

from dataflow.keras.function_code import enable_unsafe_deserialization

__all__ = ["enable_unsafe_deserialization"]
