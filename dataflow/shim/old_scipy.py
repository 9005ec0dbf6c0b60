"""What SciPy took away: NumPy's functions in ``scipy``, ``matrix.A``, windows in ``scipy.signal``, older names.

Each entry of `MENDS` adds to one module the names that programs of 2016 to 2019 use and today's
SciPy lacks; a name that is there stays as it is.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.shim.missing_names import put_missing


def _mend_scipy(module: types.ModuleType) -> None:
    """``scipy.array``, ``scipy.sqrt``, ``scipy.randn``: NumPy's functions, which SciPy had until 2.0 of NumPy."""
    functions = {name: getattr(np, name) for name in np.__all__}
    functions = {n: f for n, f in functions.items() if not isinstance(f, types.ModuleType)}
    put_missing(module, **functions, random=np.random, rand=np.random.rand, randn=np.random.randn)
    of_today = vars(module).get("__getattr__", lambda name: object.__getattribute__(module, name))

    def attribute(name: str) -> Any:  # `scipy.misc`, which SciPy loaded itself then
        return importlib.import_module("scipy.misc") if name == "misc" else of_today(name)

    vars(module)["__getattr__"] = attribute


def _mend_sparse(module: types.ModuleType) -> None:
    """``matrix.A`` and ``matrix.H``: the dense array, and the transposed conjugate."""
    for base in (module.spmatrix, module.sparray):
        if not hasattr(base, "A"):
            base.A = property(lambda self: self.toarray())
            base.H = property(lambda self: self.conjugate().transpose())


def _mend_integrate(module: types.ModuleType) -> None:
    put_missing(module, trapz=module.trapezoid, simps=module.simpson)
    put_missing(module, cumtrapz=module.cumulative_trapezoid)


def _mend_signal(module: types.ModuleType) -> None:
    windows = importlib.import_module("scipy.signal.windows")
    put_missing(module, **{name: getattr(windows, name) for name in windows.__all__})


def _mend_linalg(module: types.ModuleType) -> None:
    put_missing(module, tri=np.tri, tril=np.tril, triu=np.triu, kron=np.kron, pinv2=module.pinv)


def _mend_stats(module: types.ModuleType) -> None:
    def itemfreq(a: Any) -> Any:
        """The different values of ``a`` and how often each is there: [number of values, 2]."""
        return np.array(np.unique(a, return_counts=True)).T

    def binom_test(x: Any, n: Any = None, p: float = 0.5, alternative: str = "two-sided") -> float:
        """The p-value of ``x`` successes out of ``n``, or of ``x = [successes, failures]``."""
        if n is None:
            x, n = x[0], sum(x)
        return float(module.binomtest(x, n, p, alternative).pvalue)

    put_missing(module, itemfreq=itemfreq, binom_test=binom_test)


def _mend_package(module: types.ModuleType) -> None:
    """A folder of SciPy's that is a file today: what was below it can be imported (`gone_modules` has it)."""
    put_missing(module, __path__=[])


#: The modules, and what completes each.
MENDS: dict[str, Callable[[types.ModuleType], None]] = {
    "scipy": _mend_scipy,
    "scipy.sparse": _mend_sparse,
    "scipy.integrate": _mend_integrate,
    "scipy.signal": _mend_signal,
    "scipy.linalg": _mend_linalg,
    "scipy.stats": _mend_stats,
    "scipy.sparse.linalg.eigen": _mend_package,
    "scipy.sparse.linalg.isolve": _mend_package,
    "scipy.sparse.linalg.dsolve": _mend_package,
}
