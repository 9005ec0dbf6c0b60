"""Where Pyodide is for tests: npm's package in the environment, and wheels in ``../shared/wasm``."""

from __future__ import annotations

import functools
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: `tools/install.sh` puts it there.
PYODIDE = Path(sys.prefix) / "pyodide" / "node_modules" / "pyodide"
#: Pyodide's builds of NumPy and Pillow, which npm's package does not have.
WHEELS = ROOT.parent / "shared" / "wasm"


def wheels() -> list[Path]:
    """Pyodide's builds that are here."""
    return sorted(WHEELS.glob("*.whl"))


@functools.cache
def missing() -> str | None:
    """Why nothing can run in WebAssembly here, None where it can."""
    if shutil.which("node") is None:
        return "Node is not installed (Debian: apt-get install nodejs npm), then `make test` gets Pyodide"
    if not (PYODIDE / "pyodide.mjs").is_file():
        return "Pyodide is not installed: `make test` gets it from npm"
    if not any(path.name.startswith("numpy-") for path in wheels()):
        return f"no NumPy for WebAssembly: put Pyodide's wheel into {WHEELS}"
    return None
