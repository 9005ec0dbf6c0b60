"""`.ci/run` asks for everything and hides nothing."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


@pytest.mark.skipif(os.name != "posix", reason="platform: needs a POSIX shell")
def test_ci_runs_make_test_and_binder_with_ci_set_and_installs_only_what_is_missing(
    checkout, tmp_path
):
    programs = tmp_path / "bin"
    programs.mkdir()
    log = tmp_path / "log"
    # A machine with dot and ip, without Chromium, a C++ compiler and npm.
    for name in ("make", "apt-get", "sudo", "dot", "ip"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} CI=$CI $*" >>"{log}"\n')
        (programs / name).chmod(0o755)
    for name in ("dirname", "id", "sh"):
        (programs / name).symlink_to(shutil.which(name))
    environment = {"PATH": str(programs), "CI": ""}
    subprocess.run(["/bin/sh", checkout / ".ci" / "run"], env=environment, check=True, timeout=60)
    lines = log.read_text().splitlines()
    installed = [line for line in lines if " install " in line]
    assert len(installed) == 1
    assert installed[0].endswith(" chromium g++ nodejs npm")
    assert lines[-2:] == ["make CI=true test", "make CI=true binder"]
