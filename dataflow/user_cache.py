"""Where this user's files that can be made again are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(*names: str) -> Path:
    """``$XDG_CACHE_HOME/dataflow/...``, else ``~/.cache/dataflow/...``; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "dataflow", *names)
