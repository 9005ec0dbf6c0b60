"""Cells of old notebooks in IPython, after `dataflow.as_tensorflow`."""

from __future__ import annotations

from tests.test_notebook_errors import _run as run_cells

_COLAB = "%tensorflow_version 1.x\nimport tensorflow as tf\nprint(tf.__version__)"


def test_colabs_line_is_passed_over() -> None:
    _, colab = run_cells("import dataflow\nnow = dataflow.as_tensorflow()", _COLAB)
    assert colab == ("1.15.0\n", "NoneType")


def test_it_returns_the_module() -> None:
    _, same = run_cells(
        "import dataflow\ntf = dataflow.as_tensorflow()",
        "import tensorflow\nprint(tf is tensorflow, tf.Session.__name__)",
    )
    assert same[0] == "True Session\n"
    (shown,) = run_cells("import dataflow\ndataflow.as_tensorflow()")
    assert "<module 'tensorflow', answered by dataflow>" in shown[0]


def test_python_2_is_translated_when_asked() -> None:
    old = "for i in xrange(2):\n    print 'step', i, 7 / 2"
    begin = "import dataflow\nfor _ in range(2): tf = dataflow.as_tensorflow(python2=True)"
    _, translated, magic, wrong = run_cells(
        begin, old, "%matplotlib --list\nprint 'x'", "print 'a' 'b"
    )
    assert translated == ("step 0 3\nstep 1 3\n", "NoneType")
    assert magic[0].endswith("x\n")
    assert "SyntaxError" in wrong[0]
    _, as_it_stands = run_cells("import dataflow\ntf = dataflow.as_tensorflow()", old)
    assert "SyntaxError" in as_it_stands[0]
