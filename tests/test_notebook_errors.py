"""What a notebook shows of an error: the learner's lines and the message, not the engine's frames."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

import dataflow as tf
import dataflow_widgets
from dataflow import notebook_advice
from dataflow.error_picture import picture_svg, picture_text
from dataflow.errors import FailedInput, FailedNode

_SCRIPT = """
import io, json, sys, contextlib
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.colors = "NoColor"
outputs = []
for cell in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        result = shell.run_cell(cell)
    outputs.append([out.getvalue(), type(result.error_in_exec).__name__])
print(json.dumps(outputs))
"""
_BEGIN = (
    "import dataflow as tf\n"
    "x = tf.placeholder(tf.float32, [None, 16], name='x')\n"
    "w = tf.ones([3, 5])\n"
    "session = tf.Session()"
)


def _run(*cells: str, **environment: str) -> list[tuple[str, str]]:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps(cells)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=os.environ | environment,
    )
    return [(text, kind) for text, kind in json.loads(done.stdout)]


def test_learners_see_their_own_lines_and_the_message() -> None:
    cells = {
        "tf.matmul(x, w)": ("ShapeError", "Did you mean b of shape [16, 5]?"),
        "session.run(tf.reduce_sum(x))": ("InvalidArgumentError", "Give it in the feed_dict"),
        "session.run(x, {x: [[1.0]]})": ("ValueError", "which has shape '(?, 16)'"),
        "from dataflow_widgets import predict\npredict.pruned(tf.exp(x), session=session)": (
            "InvalidArgumentError",
            "Give it in the feed_dict",
        ),
        "session.run('nothing:0')": ("ValueError", "'nothing', does not exist"),
        "def mine(value):\n    return tf.matmul(value, w)\nmine(x)": (
            "ShapeError",
            "in mine(value)",
        ),
    }
    outputs = _run(_BEGIN, *cells)
    assert outputs[0] == ("", "NoneType")
    for (text, raised), (cell, (kind, words)) in zip(outputs[1:], cells.items(), strict=True):
        assert raised == kind
        assert text.rstrip().endswith("%tb shows them.")
        assert words in text
        assert cell.splitlines()[-1] in text
        assert "dataflow/" not in text and "dataflow_widgets/" not in text
        assert "direct cause" not in text
        assert len(text.splitlines()) <= (20 if "def " in cell else 15), text


def test_tb_shows_all_of_it_and_other_errors_are_as_ever() -> None:
    _, first, full, division, last = _run(
        _BEGIN, "tf.matmul(x, w)", "%tb", "1 / 0", "print('still here')"
    )
    assert "dataflow/" not in first[0]
    assert "dataflow/" in full[0]
    assert "ZeroDivisionError: division by zero" in division[0]
    assert "left out" not in division[0]
    assert last == ("still here\n", "NoneType")


def test_a_cell_that_is_no_python_shows_its_line_alone() -> None:
    before, _, after, evaluated = _run("x = = 1", _BEGIN, "x = = 1", "eval('x = = 1')")
    assert after[0].splitlines()[1:] == before[0].splitlines()[1:]  # but for the cell's number
    assert "x = = 1" in after[0] and "interactiveshell.py" not in after[0]
    assert "eval('x = = 1')" in evaluated[0], "what ran shows where"


def test_what_the_engine_calls_back_is_kept() -> None:
    cell = "def body(i):\n    return i + tf.undefined\ntf.while_loop(lambda i: i < 3, body, [tf.constant(0)])"
    text = _run(_BEGIN, cell)[1][0]
    assert "in body(i)" in text
    assert "dataflow/" not in text


def test_an_error_that_led_to_another_in_the_cell_is_shown() -> None:
    cell = "try:\n    tf.matmul(x, w)\nexcept ValueError as error:\n    raise RuntimeError('mine') from error"
    text = _run(_BEGIN, cell)[1][0]
    assert "direct cause" in text
    assert "RuntimeError: mine" in text
    assert "inner dimensions differ" in text
    assert "dataflow/" not in text


def test_the_environment_switches_it_off() -> None:
    text = _run(_BEGIN, "tf.matmul(x, w)", DATAFLOW_TRACEBACKS="full")[1][0]
    assert "dataflow/" in text
    assert "left out" not in text


def test_errors_are_as_they_were_afterwards() -> None:
    outputs = _run(
        _BEGIN,
        "try:\n    tf.matmul(x, w)\nexcept ValueError as e:\n    kept = e\nraise kept",
        "import traceback\nprint(len(traceback.extract_tb(kept.__traceback__)), bool(kept.__cause__))",
    )
    num_frames, has_cause = outputs[2][0].split()
    assert int(num_frames) > 3
    assert has_cause == "True"


@pytest.mark.parametrize("own", ["lambda *_: None"])
def test_a_handler_that_is_there_already_stays(own: str) -> None:
    handler = f"get_ipython().set_custom_exc((ValueError,), {own})"
    outputs = _run(handler, _BEGIN, "print(get_ipython().custom_exceptions)")
    assert outputs[2][0] == "(<class 'ValueError'>,)\n"


def _in_a_terminal(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
        encoding="utf-8",
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(
    ("line", "drawn"),
    [
        ("tf.matmul(x, w)", "✗ ones:0  float32[3, 5]   b ──┴─▶ MatMul 'MatMul'"),
        ("session.run(tf.matmul(y, w), {y: [[1, 2]]})", "✗ ones:0  float32[3, 5]  y ──┴─▶ "),
        ("tf.add(w, tf.ones([5], tf.int32))", "✗ ones_1:0  int32[5]       y ──┴─▶ Add 'Add'"),
        ("tf.reduce_sum(tf.cast(w, tf.string))", ""),
    ],
)
def test_a_terminal_shows_fifteen_lines_with_the_node_drawn(line: str, drawn: str) -> None:
    begin = _BEGIN + "\ny = tf.placeholder(tf.float32, name='y')\n"
    text = _in_a_terminal(begin + line)
    assert drawn in text
    assert "of the engine" in text
    assert "dataflow/" not in text
    assert len(text.splitlines()) <= 15, text


def test_a_terminal_without_line_characters_has_others() -> None:
    text = _in_a_terminal(_BEGIN + "\ntf.matmul(x, w)", PYTHONIOENCODING="latin-1")
    assert "x ones:0  float32[3, 5]   b --+-> MatMul 'MatMul'" in text


def test_a_terminal_shows_other_errors_and_all_frames_as_ever() -> None:
    assert "left out" not in _in_a_terminal("import dataflow as tf\n1 / 0")
    last = _in_a_terminal("import dataflow as tf\ntf.nn.no_such").splitlines()[-1]
    assert last.startswith("AttributeError: ")
    text = _in_a_terminal(_BEGIN + "\ntf.matmul(x, w)", DATAFLOW_TRACEBACKS="full")
    assert "dataflow/" in text


def test_the_picture_marks_the_input_that_does_not_fit() -> None:
    with tf.Graph().as_default():
        a, b = tf.ones([2, 3], name="a"), tf.ones([3, 3], name="b")
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.concat([a, b], 1)
    failed = caught.value.failed_node
    assert failed is not None
    assert [one.tensor for one in failed.inputs if one.is_wrong] == ["b:0"]
    assert pickle.loads(pickle.dumps(caught.value)).failed_node == failed
    svg = picture_svg(failed)
    xml.etree.ElementTree.fromstring(svg)
    assert "values[1] b:0: float32 [3, 3], which does not fit" in svg
    # The upper arguments stand above their lines, the lowest one below: lines meet in the middle.
    starts = [float(y) for y in re.findall(r'd="M\d+,([\d.]+)C', svg)]
    names = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>(?:values\[|axis<)', svg)]
    assert [a < b for a, b in zip(names, starts, strict=True)] == [True, True, False]
    hostile = failed._replace(name="<script>alert(1)</script>")
    assert "<script" not in picture_svg(hostile)


def test_a_long_name_is_cut_where_a_scope_begins() -> None:
    long = "tower_1/sparse_softmax_cross_entropy_loss/xentropy/SparseSoftmaxCrossEntropyWithLogits"
    one = FailedInput("labels", "labels:0", "float32", "[?]", True)
    drawn = picture_svg(FailedNode("SparseSoftmaxCrossEntropyWithLogits", long, (one,)))
    assert ">…/SparseSoftmaxCrossEntropyWithLogits</text>" in drawn
    assert long in drawn, "a screen reader reads all of it"
    assert "x" * 40 in picture_svg(FailedNode("Add", "x" * 40, (one,)))
    assert ">…" + "y" * 40 + "<" in picture_svg(FailedNode("Add", "x" + "y" * 40, (one,)))


_FORGOTTEN = "run that cell first: a kernel that was restarted remembers nothing"


def test_an_error_of_pythons_own_says_what_to_do() -> None:
    told = {
        "session.run(logits)": _FORGOTTEN,
        "sesion.run(x)": "What to do: Did you mean session? ",
        "def mine():\n    return logits\nmine()": _FORGOTTEN,
        "np.zeros(3)": "What to do: np comes from a cell with `import numpy as np`. ",
        "GraphView()": "`from dataflow_widgets import GraphView`. ",
        "loss = session.run(tf.no_op())\nprint(loss + 1)": "What to do: loss is None here.",
        "print('%f' % loss)": "What to do: loss is None here. sess.run(op) gives None",
        "session.run(w, {[1.0]: x})": "The keys of a feed_dict are placeholders",
        "range(x)": "sess.run(t) gives it",
    }
    texts = [text for text, _ in _run(_BEGIN, *told)[1:]]
    assert [text.count("What to do: ") for text in texts] == [1] * len(told)
    assert [
        words for text, words in zip(texts, told.values(), strict=True) if words not in text
    ] == []


def test_every_widget_is_known_to_the_advice() -> None:
    widgets = {name for name in dataflow_widgets.__all__ if name != "predict"}
    assert widgets == notebook_advice._WIDGETS


def test_where_nothing_more_is_to_be_said_nothing_is() -> None:
    cells = [
        "1 / 0",
        "'a' + 1",
        "{[1]: 2}",
        "(lambda: None)() + 1",
        "def mine():\n    a += 1\nmine()",
        "session.run(loss)",  # the engine says it
    ]
    outputs = _run(_BEGIN + "\nloss = None", *cells)[1:]
    assert "NoneType" not in [kind for _, kind in outputs]
    assert [text for text, _ in outputs if "What to do" in text] == []


def test_a_picture_of_many_inputs_has_the_wrong_one() -> None:
    inputs = tuple(FailedInput("", f"t{i}:0", "float32", "[2]", i == 30) for i in range(50))
    text = picture_text(FailedNode("AddN", "sum", inputs))
    assert len(text.splitlines()) == 4
    assert "✗ t30:0" in text


def test_a_cell_that_makes_its_variables_again_says_how_to_begin_anew() -> None:
    cell = "tf.get_variable('w', [2])"
    (_, first, again) = _run("import dataflow as tf", cell, cell)
    assert first[1] == "NoneType" and again[1] == "ValueError"
    assert "reuse=tf.AUTO_REUSE" in again[0] and "tf.reset_default_graph()" in again[0]


def test_outside_of_a_notebook_nothing_is_said_of_cells() -> None:
    with tf.Graph().as_default():
        tf.get_variable("w", [2])
        with pytest.raises(ValueError, match="already exists") as e:
            tf.get_variable("w", [2])
    assert "reset_default_graph" not in str(e.value)
