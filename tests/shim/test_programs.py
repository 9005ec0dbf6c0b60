"""`dataflow run` and `python -m dataflow`, as real processes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dataflow.shim import import_hook, programs

ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """`python -m dataflow ARGUMENTS` in ``folder``, without a display."""
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    path = os.pathsep.join(str(ROOT / name) for name in (".", "widgets", "datasets"))
    return subprocess.run(
        [sys.executable, "-m", "dataflow", *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": path, "DATAFLOW_OFFLINE": "1", **changes},
        capture_output=True,
        text=True,
        timeout=250,
    )


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


SCRIPT = '''
"""A script in the usual form: flags, a file beside it, data by a relative path, tf.app.run()."""
import json, os, sys
import numpy as np
import tensorflow as tf
import nets.model as model

flags = tf.app.flags
flags.DEFINE_float("learning_rate", 0.01, "Initial learning rate.")
flags.DEFINE_integer("steps", 5, "Number of steps.")
FLAGS = flags.FLAGS

def main(_):
    data = np.loadtxt("data/points.txt").astype(np.float)
    x = tf.placeholder(tf.float32, [None, 2])
    loss = model.loss(x)
    step = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(FLAGS.steps):
            sess.run(step, {x: data})
    print(json.dumps({"argv": sys.argv, "name": __name__, "file": __file__, "cwd": os.getcwd(),
                      "path": sys.path[0], "main": hasattr(sys.modules["__main__"], "FLAGS"),
                      "rate": FLAGS.learning_rate, "version": tf.__version__}))
    return 3

if __name__ == "__main__":
    tf.app.run()
'''
MODEL = """
import tensorflow as tf
from tensorflow.contrib.layers.python.layers import initializers
def loss(x):
    w = tf.get_variable("w", [2, 1], initializer=initializers.xavier_initializer(seed=1))
    return tf.reduce_mean(tf.square(tf.matmul(x, w)))
"""


def test_a_script_sees_the_world_that_python_shows_it(tmp_path: Path) -> None:
    write(tmp_path, work__train=SCRIPT, work__nets__model=MODEL, work__nets____init__="")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "points.txt").write_text("1 2\n3 4\n")
    result = run(tmp_path, "run", "work/train.py", "--learning_rate", "0.5", "--steps=2", "extra")
    assert result.returncode == 3, result.stderr  # what main() returned
    assert json.loads(result.stdout) == {
        "argv": ["work/train.py", "--learning_rate", "0.5", "--steps=2", "extra"],
        "name": "__main__",
        "file": str(tmp_path / "work" / "train.py"),
        "cwd": str(tmp_path),
        "path": str(tmp_path / "work"),
        "main": True,
        "rate": 0.5,
        "version": "1.15.0",
    }


CHILDREN = """
import json, multiprocessing, subprocess, sys
import tensorflow as tf

def work(n):
    with tf.Graph().as_default(), tf.Session() as sess:
        return int(sess.run(tf.constant(n) * 2)), tf.__version__

if __name__ == "__main__":
    pool = multiprocessing.get_context("spawn").Pool(1)
    print(json.dumps(pool.map(work, [3])))
    pool.close(); pool.join()
    print(subprocess.check_output([sys.executable, "-c",
        "import tensorflow as tf; from keras.layers import Dense; print(tf.VERSION)"], text=True))
"""


def test_processes_that_a_program_starts_find_the_engine_too(tmp_path: Path) -> None:
    write(tmp_path, workers=CHILDREN)
    result = run(tmp_path, "workers.py")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[:2] == ['[[6, "1.15.0"]]', "1.15.0"]


REAL = "raise AssertionError('the TensorFlow that is installed beside was imported')"


def test_a_tensorflow_installed_beside_is_not_reached(tmp_path: Path) -> None:
    write(tmp_path, site__tensorflow____init__=REAL, site__keras____init__=REAL)
    write(tmp_path, a="import tensorflow as tf, keras\nprint(tf.VERSION, keras.layers.Dense)\n")
    path = os.pathsep.join(str(p) for p in (tmp_path / "site", ROOT, ROOT / "datasets"))
    result = run(tmp_path, "a.py", PYTHONPATH=path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("1.15.0 <class 'dataflow.keras")


@pytest.mark.parametrize("root", import_hook.ANSWERED)
def test_each_package_that_is_answered_makes_a_tensorflow_program(
    root: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    source = f"import {root}\n"
    path.write_text(source)
    programs.refuse_other_programs(path, [(str(path), ast.parse(source))])


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        (
            "verbs",
            "import tensorflow as tf\n\nfrom tensorflow.contrib import verbs\n",
            "verbs.py, line 3: tf.contrib.verbs is not part of dataflow. It was RDMA",
        ),
        (
            "deep_verbs",
            "from tensorflow.contrib.verbs.python.verbs import verbs_config\n",
            "deep_verbs.py, line 1: tf.contrib.verbs is not part of dataflow. It was RDMA",
        ),
        (
            "library",
            "import tensorflow as tf\ndef f():\n    return tf.load_op_library('x.so')\nf()\n",
            "library.py, line 3: tf.load_op_library is not part of dataflow. Custom ops in C++",
        ),
        (
            "rt",
            "import tensorflow as tf\ntf.contrib.tensorrt.create_inference_graph()\n",
            "rt.py, line 2: tf.contrib.tensorrt is not part of dataflow. It was NVIDIA's TensorRT",
        ),
        ("plain", "import numpy\n", "plain.py is not a TensorFlow program: neither it nor a file"),
        (
            "high",
            "import os\nfrom a_package_of_its_time import nets\n",
            "high.py, line 2: it imports a_package_of_its_time, which is not installed here, and",
        ),
        ("other", "import os\nimport torch\n", "other.py, line 2, needs torch: it is a PyTorch"),
        (
            "old",
            "import tensorflow\nprint 'a'\n",
            "old.py, line 2 is not Python 3: Missing parentheses",
        ),
        (
            "absent",
            "import tensorflow as tf\ntf.reduce_men([1.])\n",
            "absent.py, line 2: tf.reduce_men is not part of dataflow. Did you mean tf.reduce_mean",
        ),
        (
            "needs",
            "import tensorflow as tf\nimport a_package_of_its_time\n",
            "needs.py, line 2: it imports a_package_of_its_time, which is not installed here.",
        ),
    ],
)
def test_what_cannot_run_is_one_sentence_with_the_line(
    name: str, source: str, says: str, tmp_path: Path
) -> None:
    write(tmp_path, **{name: source})
    result = run(tmp_path, f"{name}.py")
    assert result.returncode == 1
    assert result.stderr.startswith(f"dataflow run: {says}")
    assert result.stderr.count("\n") == 1 and result.stderr.endswith((".\n", "?\n"))


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "picture.py").write_bytes(b"\x89PNG\xff\x00")
    (tmp_path / "broken.ipynb").write_text("{")
    (tmp_path / "r.ipynb").write_text(
        json.dumps({"cells": [], "metadata": {"kernelspec": {"language": "R"}}})
    )
    for name, says in (
        ("missing.py", "There is no file missing.py."),
        ("picture.py", "picture.py is not a Python program"),
        ("broken.ipynb", "broken.ipynb is not a notebook"),
        ("r.ipynb", "r.ipynb is a notebook in R, not Python."),
    ):
        result = run(tmp_path, name)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith(f"dataflow run: {says}"), result.stderr


def test_an_error_of_the_program_is_told_as_python_tells_it(tmp_path: Path) -> None:
    write(tmp_path, a="import tensorflow as tf\ndef f():\n    return 1 // 0\nf()\n")
    lines = run(tmp_path, "a.py").stderr.splitlines()
    assert lines[:3] == [
        "Traceback (most recent call last):",
        '  File "a.py", line 4, in <module>',
        "    f()",
    ]
    assert lines[-1].startswith("ZeroDivisionError")


def test_what_asks_for_tensorflow_by_a_string_may_run(tmp_path: Path) -> None:
    write(tmp_path, a="import importlib\nprint(importlib.import_module('tensorflow').VERSION)\n")
    assert run(tmp_path, "a.py").stdout == "1.15.0\n"


def test_what_starts_a_file_that_needs_tensorflow_may_run(tmp_path: Path) -> None:
    write(tmp_path, worker="import tensorflow as tf\nprint(tf.VERSION)\n", plain="import os\n")
    start = "import subprocess, sys\nfor command in (%r, 'missing.py'):\n"
    start += "    subprocess.run([sys.executable, *command.split()])\n"
    write(tmp_path, a=start % "worker.py --task 0", b=start % "plain.py --task 0")
    assert run(tmp_path, "a.py").stdout == "1.15.0\n"
    assert "is not a TensorFlow program" in run(tmp_path, "b.py").stderr


PYTHON_2 = """
import tensorflow as tf, beside
from itertools import izip
for i, j in izip(xrange(2), beside.letters()):
    print "%d:" % i, j,
print beside.half(3)
try:
    raise ValueError, "bad"
except ValueError, e:
    print >>__import__("sys").stderr, e
"""

BESIDE = """
def letters():
    print 'called'
    return u'ab'
def half(n):
    return n / 2
"""


def test_a_program_of_a_package_that_needs_tensorflow_runs(tmp_path: Path) -> None:
    write(tmp_path, site__highlevel____init__="", site__highlevel__core="import tensorflow as tf\n")
    write(tmp_path, site__plain____init__="import os\n", b="import plain\n")
    write(tmp_path, a="from highlevel import core\nprint(core.tf.VERSION)\n")
    path = os.pathsep.join(str(p) for p in (tmp_path / "site", ROOT, ROOT / "datasets"))
    assert run(tmp_path, "a.py", PYTHONPATH=path).stdout == "1.15.0\n"
    assert "is not a TensorFlow program" in run(tmp_path, "b.py", PYTHONPATH=path).stderr


def test_python_2_on_request(tmp_path: Path) -> None:
    write(tmp_path, old=PYTHON_2, beside=BESIDE)
    result = run(tmp_path, "--python2", "old.py")
    assert (result.returncode, result.stdout) == (0, "called\n0: a 1: b 1\n")
    assert result.stderr == "bad\n"


def notebook(*cells: str, **metadata: Any) -> str:
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    made.insert(0, {"cell_type": "markdown", "source": ["# An old notebook"]})
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4})


def test_matplotlib_inline_loads_pyplot(tmp_path: Path) -> None:
    cells = (
        "%matplotlib inline\nimport tensorflow as tf\nimport matplotlib\n",
        "matplotlib.style.use('ggplot')\nprint('plt' in globals(), matplotlib.pyplot.get_fignums())",
    )
    (tmp_path / "plain.ipynb").write_text(notebook(*cells))
    assert run(tmp_path, "plain.ipynb").stdout == "False []\n"
    write(
        tmp_path,
        exported="import tensorflow\nget_ipython().magic('matplotlib inline')\nimport matplotlib\nprint(matplotlib.style.available[0])\n",
    )
    assert run(tmp_path, "exported.py").returncode == 0


def test_a_notebook_runs_cell_by_cell(tmp_path: Path) -> None:
    cells = (
        "%matplotlib inline\nimport tensorflow as tf\n!pip install tensorflow==1.4\n",
        "%%time\na = tf.constant(3.0)\nsess = tf.InteractiveSession()\n(a * 2).eval()",
        "%%bash\nls",
        "def g():\n    return tf.matmul(a, a)\ng()",
    )
    (tmp_path / "old.ipynb").write_text(notebook(*cells))
    result = run(tmp_path, "old.ipynb")
    assert result.returncode == 1
    assert result.stdout == "6.0\n" or result.stdout == "np.float32(6.0)\n"
    assert "old.ipynb, cell 1, line 3 was left out: !pip install" in result.stderr
    assert "old.ipynb, cell 3 was left out: %%bash" in result.stderr
    assert 'File "old.ipynb, cell 4", line 2, in g' in result.stderr
    assert "    return tf.matmul(a, a)" in result.stderr
    assert "built at" not in result.stderr or "old.ipynb, cell 4, line 2" in result.stderr


def test_the_notebook_beside_the_lessons_runs(tmp_path: Path) -> None:
    text = (ROOT / "lessons" / "tensorflow1.ipynb").read_text(encoding="utf-8")
    (tmp_path / "tensorflow1.ipynb").write_text(text, encoding="utf-8")
    result = run(tmp_path, "tensorflow1.ipynb")
    assert result.returncode == 0, result.stderr
    answered, *lines = result.stdout.splitlines()
    assert answered == "<module 'tensorflow', answered by dataflow>"
    assert lines[0] == "1.15.0 is dataflow" and lines[1].startswith("slope 1.9")
    assert "tf.contrib.verbs is not part of dataflow. It was RDMA between tasks" in lines[-2]
    assert lines[2] == "(True, True)" and lines[-1] == "True"


def test_what_runs_copy_and_functions_trace_are_no_graphs_of_the_program(tmp_path: Path) -> None:
    source = (
        "import tensorflow as tf\ndata = tf.data.Dataset.range(3).map(lambda x: x + 1)\n"
        "y = data.make_one_shot_iterator().get_next(name='next') * 2\n"
        "with tf.Session() as s:\n    print(s.run(y))\n"
    )
    write(tmp_path, build=source)
    result = run(tmp_path, "run", "--graph", "--no-browser", "build.py")
    assert result.stdout == "2\n" and "dataflow run: the graph is in" in result.stderr


def test_the_graph_as_a_page(tmp_path: Path) -> None:
    source = (
        "import tensorflow as tf\nwith tf.Graph().as_default():\n    x = tf.constant(1, name='one')\n"
        "    y = tf.add(x, x, name='</script>'[2:-1])\ntf.constant(0)\ntf.no_such_name\n"
    )
    write(tmp_path, build=source)
    result = run(tmp_path, "run", "--graph", "--no-browser", "build.py")
    assert result.returncode == 1  # the program's own failure; the page is there all the same
    page = (tmp_path / "build_graph.html").read_text()
    assert '"name": "one"' in page and "https://" not in page
    assert "the graph (the largest of 2 graphs) is in" in result.stderr
    assert run(tmp_path, "run", "--page", "no/folder.html", "build.py").stderr.endswith(
        "folder.html cannot be written: No such file or directory.\n"
    )
