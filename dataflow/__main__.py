"""``python -m dataflow script.py``: ``dataflow run script.py``; the other commands, too."""

from __future__ import annotations

import sys

from dataflow.cli import COMMANDS, main

_ARGUMENTS = sys.argv[1:]
sys.exit(main(_ARGUMENTS if not _ARGUMENTS or _ARGUMENTS[0] in COMMANDS else ["run", *_ARGUMENTS]))
