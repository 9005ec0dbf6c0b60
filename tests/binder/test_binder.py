"""The files that repo2docker reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def binder(checkout):
    return checkout / "binder"


def test_nothing_makes_repo2docker_ignore_runtime_txt(binder):
    assert (binder / "runtime.txt").read_text().strip() == "python-3.11"
    for name in ("environment.yml", "Dockerfile", "Pipfile", "setup.py"):
        assert not (binder / name).exists()


def test_it_installs_what_the_lab_installs_and_no_cupy(binder):
    text = (binder / "requirements.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert lines == ["-e .[lab]"]


def test_apt_packages(binder):
    assert (binder / "apt.txt").read_text().split() == ["graphviz"]


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_scripts_are_executable_and_parse(binder, name):
    assert os.access(binder / name, os.X_OK)
    subprocess.run(["bash", "-n", binder / name], check=True, timeout=30)


def test_start_hands_over_to_its_arguments(binder):
    command = ["bash", binder / "start", "sh", "-c", "echo $1 $OMP_NUM_THREADS", "x", "a b"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert result.stdout == "a b 2\n"


def test_post_build_installs_the_settings(binder, checkout, tmp_path):
    # `python` in the image is the environment's; here it is the one that runs the tests.
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "python").chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    python_path = os.pathsep.join(str(checkout / name) for name in ("", "widgets", "datasets"))
    environment = {"NB_PYTHON_PREFIX": str(tmp_path), "PATH": path, "PYTHONPATH": python_path}
    command = [shutil.which("bash"), binder / "postBuild"]
    subprocess.run(command, cwd=checkout, env=os.environ | environment, check=True, timeout=120)
    written = tmp_path / "etc" / "jupyter" / "labconfig" / "default_setting_overrides.json"
    assert json.loads(written.read_text())["@jupyter-widgets/jupyterlab-manager:plugin"] == {
        "saveState": True
    }


def test_post_build_stops_at_the_first_error(binder):
    assert "set -e" in (binder / "postBuild").read_text().splitlines()
