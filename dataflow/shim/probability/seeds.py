"""``tfp.util``, as far as it is here: seeds."""

from __future__ import annotations

from dataflow.contrib.distributions import SeedStream as SeedStream
