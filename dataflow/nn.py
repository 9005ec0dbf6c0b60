"""`tf.nn`: what neural networks are made of."""

from __future__ import annotations
