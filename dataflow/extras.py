"""The optional parts of the package, as ``pip`` knows them: the one home of how to install them."""

from __future__ import annotations

#: What the package is called where packages are installed from; ``dataflow`` is somebody else's.
DISTRIBUTION = "dataflow-learn"


def install(extra: str) -> str:
    """The command that installs an optional part, such as ``"cluster"``."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
