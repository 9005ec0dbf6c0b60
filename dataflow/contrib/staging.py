"""``tf.contrib.staging``."""

from __future__ import annotations
