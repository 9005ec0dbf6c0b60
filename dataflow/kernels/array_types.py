"""Types of what a kernel takes."""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

#: An array of the kernel's device. NumPy's class stands for CuPy's and a pretend GPU's, which have the
#: same methods; a value without axes may come as a NumPy scalar.
Array: TypeAlias = np.ndarray[Any, Any]
#: What has NumPy's functions: NumPy, CuPy, a pretend GPU's module, or the recorder of a tracer.
Module: TypeAlias = ModuleType
