"""Private functions of ``tensorflow.python.ops.gradient_checker`` that programs call."""

from dataflow.autodiff.gradient_checker import (
    gradient_and_seed as _compute_dx_and_dy,
    numeric_jacobian as _compute_numeric_jacobian,
    theoretical_jacobian as _compute_theoretical_jacobian,
)

__all__ = ["_compute_dx_and_dy", "_compute_numeric_jacobian", "_compute_theoretical_jacobian"]
