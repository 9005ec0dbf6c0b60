"""Find a Chromium-like browser for the tests that drive JupyterLab."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

BROWSER_VARIABLE = "DATAFLOW_BROWSER"

_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

HOW_TO_GET_A_BROWSER = (
    "install Chromium (Debian and Ubuntu: apt-get install chromium; macOS: brew install "
    f"--cask chromium), or set {BROWSER_VARIABLE} to the path of a Chrome or Chromium"
)


def find_browser(environment: Mapping[str, str] = os.environ) -> str | None:
    """Path of a Chromium or Chrome, None where there is none.

    `DATAFLOW_BROWSER` decides when it is set; a path there that does not exist counts as none.
    """
    chosen = environment.get(BROWSER_VARIABLE)
    if chosen:
        return shutil.which(chosen)
    for command in _COMMANDS:
        path = shutil.which(command, path=environment.get("PATH"))
        if path:
            return path
    return next((path for path in _APPLICATIONS if Path(path).exists()), None)
