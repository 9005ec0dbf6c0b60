"""``tfp.monte_carlo``: expectations from samples."""

from __future__ import annotations

from dataflow.contrib.bayesflow import expectation as expectation
