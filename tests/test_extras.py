"""Hints say how to install what is missing, under the name that is ours."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from dataflow import extras

_SOURCES = ("dataflow", "widgets/dataflow_widgets", "datasets/dataflow_datasets")


@pytest.fixture(scope="module")
def project(checkout):
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def sources(checkout):
    for folder in _SOURCES:
        for path in (checkout / folder).rglob("*.py"):
            if "node_modules" not in path.parts:
                yield path, path.read_text(encoding="utf-8")


def test_the_name_is_that_of_the_package(project):
    assert project["name"] == extras.DISTRIBUTION
    assert extras.install("cluster") == f"pip install '{project['name']}[cluster]'"


def test_each_hint_names_an_extra_that_there_is(checkout, project):
    named = {}
    for path, text in sources(checkout):
        for extra in re.findall(r"""\binstall\(["'](\w+)["']\)""", text):
            named[extra] = path
    assert {"cluster", "fast", "lab"} <= set(named)
    assert set(named) <= set(project["optional-dependencies"])


def test_no_hint_has_words_of_its_own(checkout):
    own = [
        str(path)
        for path, text in sources(checkout)
        if re.search(r"dataflow(-learn)?\[[a-z]|pip install '?dataflow", text)
    ]
    assert own == []


def test_without_ray_a_launch_says_what_to_install():
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "import dataflow as tf\n"
        "try:\n"
        "    tf.cluster.launch(ps=1, workers=1)\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert f"needs Ray, which is not installed: {extras.install('cluster')}" in done.stdout
