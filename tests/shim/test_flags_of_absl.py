"""`tf.flags` and absl's flags share one command line, as they do in TensorFlow 1.5 and later."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
{imports}
tf.flags.DEFINE_integer("steps", 3, "a number")
flags.DEFINE_string("name", "x", "a text")

def main(argv):
    print(argv[1:], flags.FLAGS.name, tf.flags.FLAGS.steps, flags.FLAGS.steps, tf.flags.FLAGS.name)

{run}
"""


@pytest.mark.parametrize("run", ["app.run(main)", "tf.app.run()"])
@pytest.mark.parametrize(
    "imports",
    [
        "from absl import app, flags\nimport tensorflow as tf",
        "import tensorflow as tf\nfrom absl import app, flags",
    ],
)
def test_both_are_parsed_by_either_run(tmp_path: Path, imports: str, run: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(PROGRAM.format(imports=imports, run=run))
    command = [sys.executable, "-m", "dataflow", str(script), "--name=q", "--steps=5", "rest"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "['rest'] q 5 5 q\n", done.stderr
