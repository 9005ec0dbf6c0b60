"""SciPy as programs of 2016 to 2019 call it. The values are what SciPy 1.2.1 gave."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shim.test_as_tensorflow import result_of

pytest.importorskip("scipy")


def scipy_after(*lines: str) -> Any:
    """``result`` after the lines, with ``scipy`` and ``np`` imported."""
    program = """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import scipy
"""
    return result_of(program + "\n".join(lines))


def test_sparse_matrices_and_arrays_have_a_dense_one() -> None:
    found = scipy_after(
        "import scipy.sparse as sp",
        "m = sp.csr_matrix([[1, 2j], [0, 3]])",
        "result = [(m.A == m.toarray()).tolist(), m.H.A.imag.tolist(), type(m.A).__name__,",
        "    sp.coo_array([[4]]).A.tolist()]",
    )
    assert found == [[[True, True], [True, True]], [[0.0, 0.0], [-2.0, 0.0]], "ndarray", [[4]]]


def test_scipy_loads_misc_itself() -> None:
    pytest.importorskip("PIL")
    found = scipy_after(
        "from scipy import ndimage",
        "picture = scipy.misc.imresize(np.zeros((8, 9, 3), 'u1'), size=(4, 6))",
        "result = [list(picture.shape), callable(ndimage.imread), hasattr(scipy, 'nothing')]",
    )
    assert found == [[4, 6, 3], True, False]


def test_functions_of_numpy_are_in_scipy_and_its_own_stay() -> None:
    found = scipy_after(
        "import scipy.linalg, scipy.fft, types",
        "a = scipy.array([4.0, 9.0])",
        "result = [scipy.sqrt(a).tolist(), scipy.zeros((1, 2)).tolist(), scipy.randn(2).shape,",
        "    scipy.fft.__name__, scipy.linalg.__name__, scipy.__version__ != np.__version__,",
        "    scipy.linalg.triu(np.ones((2, 2))).tolist(), scipy.linalg.pinv2(np.eye(2)).tolist()]",
    )
    assert found[:3] == [[2.0, 3.0], [[0.0, 0.0]], [2]]
    assert found[3:6] == ["scipy.fft", "scipy.linalg", True]
    assert found[6:] == [[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]


def test_integrals_windows_and_counts_by_their_older_names() -> None:
    found = scipy_after(
        "from scipy.integrate import cumtrapz, simps, trapz",
        "from scipy.signal import gaussian, hann",
        "from scipy.stats import binom_test, itemfreq",
        "x = np.arange(5.0)",
        "result = [trapz(x, dx=2), simps(x ** 2, x), cumtrapz(x).tolist(), hann(3).tolist(),",
        "    round(float(gaussian(3, 1.0)[0]), 4), itemfreq([3, 1, 3]).tolist(),",
        "    binom_test(3, 4), binom_test([3, 1])]",
    )
    assert found[0] == 16.0 and found[1] == pytest.approx(64 / 3)
    assert found[2:4] == [[0.5, 2.0, 4.5, 8.0], [0.0, 1.0, 0.0]]
    assert found[4:] == [0.6065, [[1, 1], [3, 2]], 0.625, 0.625]


def test_modules_that_moved_are_found_under_their_old_names() -> None:
    found = scipy_after(
        "import scipy.sparse as sp, scipy.sparse.linalg as today",
        "from scipy.sparse.linalg.eigen.arpack import ArpackNoConvergence, eigsh",
        "from scipy.sparse.linalg.isolve.iterative import cg",
        "from scipy.sparse.linalg.dsolve.linsolve import spsolve",
        "from numpy.lib.function_base import average",
        "from numpy.testing.utils import assert_allclose",
        "result = [eigsh is today.eigsh, cg is today.cg, spsolve is today.spsolve, average is np.average,",
        "    assert_allclose is np.testing.assert_allclose, issubclass(ArpackNoConvergence, Exception),",
        "    eigsh(sp.diags([1.0, 5.0, 3.0]), 1, which='LM')[0].round(6).tolist()]",
    )
    assert found == [True, True, True, True, True, True, [5.0]]
