"""`tf.io`: reading and writing files, and what is in them."""

from __future__ import annotations
