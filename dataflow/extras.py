"""The optional parts of the package, as ``pip`` knows them: the one home of how to install them."""

from __future__ import annotations

import sys

#: What the package is called where packages are installed from; ``dataflow`` is somebody else's.
DISTRIBUTION = "dataflow-learn"


def install(extra: str) -> str:
    """The command that installs an optional part, such as ``"cluster"``."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def where_to_get(package: str, extra: str) -> str:
    """How to get ``package``, which is in the optional part ``extra``: a command, or in a web page a sentence."""
    if sys.platform != "emscripten":
        return install(extra)
    return (
        f"`%pip install {package}` in a cell gets it if this site's Pyodide has it, as the public one does; "
        f"else install dataflow on a computer of yours ({install(extra)}), and run it there"
    )
