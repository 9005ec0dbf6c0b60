"""The wheel: what is in it, and that what it installs works without the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

from dataflow.course.copies import AUTHORS_FILES


@pytest.fixture(scope="module")
def project(checkout):
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(checkout, tmp_path_factory):
    """The wheel, built with the hatchling that is installed: no network, no isolation."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=checkout,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    """What pip would put into site-packages."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_the_three_packages_are_in_it_whole(checkout, names):
    packages = {"dataflow": "", "dataflow_widgets": "widgets", "dataflow_datasets": "datasets"}
    for package, parent in packages.items():
        folder = checkout / parent
        for path in (folder / package).rglob("*.py"):
            if "node_modules" not in path.parts:
                assert path.relative_to(folder).as_posix() in names


def test_files_that_are_no_python_are_in_it(checkout, names):
    assert "dataflow/cli/jupyter/labconfig/default_setting_overrides.json" in names
    assert "dataflow/cli/jupyter/jupyter_server_config.d/dataflow.json" in names
    for folder, pattern in (("widgets", "*.js"), ("widgets", "*.css"), ("datasets", "*.md")):
        for path in (checkout / folder).glob(f"dataflow_{folder}/*/{pattern}"):
            assert path.relative_to(checkout / folder).as_posix() in names


def of_the_course(checkout):
    """The files of lessons/ that a learner gets: notebooks, pictures, the guide for clusters."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "lessons"],
        cwd=checkout, capture_output=True, text=True, check=True, timeout=30,
    ).stdout.splitlines()  # fmt: skip
    paths = {name.removeprefix("lessons/") for name in listed if (checkout / name).is_file()}
    return paths - AUTHORS_FILES


def test_every_file_of_the_course_is_in_it(checkout, names):
    course = of_the_course(checkout)
    assert {"01_graphs.ipynb", "README.md", "cluster/raycluster.yaml"} <= course
    assert any(name.startswith("images/") for name in course)
    inside = {n.removeprefix("dataflow/_lessons/") for n in names if n.startswith("dataflow/_l")}
    assert course <= inside
    assert {n for n in inside if n.endswith((".md", ".toml", ".ipynb"))} <= course


def test_an_installed_lab_copies_the_whole_course(checkout, unpacked, tmp_path):
    source = (
        "from dataflow.cli.lab import lessons_folder\n"
        "from dataflow.course import check\n"
        "import glob, importlib\n"
        "folder = lessons_folder('mine')\n"
        "for path in glob.glob('mine/[0-9]*.ipynb'):\n"
        "    importlib.import_module('dataflow.course.check.lesson' + path[5:7])\n"
        "print(folder)\n"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "01_graphs.ipynb").write_text("my answers")
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    copied = {p.relative_to(tmp_path / "mine").as_posix() for p in tmp_path.rglob("mine/**/*")}
    assert of_the_course(checkout) <= copied
    assert (tmp_path / "mine" / "01_graphs.ipynb").read_text() == "my answers"
    assert "Kept 1 file of yours" in done.stdout


def test_nothing_else_is_in_it(names):
    top = {name.split("/")[0] for name in names}
    dist_info = {name for name in top if name.endswith(".dist-info")}
    assert top - dist_info == {"dataflow", "dataflow_widgets", "dataflow_datasets"}
    strays = [
        n for n in names if any(s in n for s in ("__pycache__", "node_modules", "checkpoints/"))
    ]
    assert strays == []


def test_the_license_is_in_it(names):
    assert any(name.endswith("LICENSE") for name in names)


def test_the_installed_package_works_without_the_checkout(unpacked, tmp_path):
    source = (
        "import dataflow, dataflow_datasets, dataflow.cli.lab as lab\n"
        "assert lab.checkout_lessons() is None\n"
        "assert lab.installed_lessons() is not None\n"
        "assert lab.JUPYTER_CONFIG_FOLDER.is_dir()\n"
        "print(dataflow.__file__)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", source],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(str(unpacked))


def test_the_console_script(unpacked):
    (entry_points,) = unpacked.glob("*.dist-info/entry_points.txt")
    assert "dataflow = dataflow.cli:main" in entry_points.read_text()


def test_the_core_needs_numpy_and_the_flags_of_absl(project):
    needed = [re.split(r"[<>=\[ ]", name)[0] for name in project["project"]["dependencies"]]
    assert needed == ["absl-py", "numpy"]


def test_the_flags_of_absl_load_when_they_are_asked_for():
    program = "import sys, dataflow as tf; before = 'absl' in sys.modules; tf.flags; print(before, 'absl' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_the_version_is_said_once(project):
    import dataflow

    assert getattr(dataflow, "__version__", None) == project["project"]["version"]


@pytest.mark.parametrize("extra", ["lab", "cluster", "train", "gpu", "gpu13", "test"])
def test_extras(project, extra):
    assert project["project"]["optional-dependencies"][extra]


def test_what_make_test_installs_covers_what_make_lab_installs(project):
    extras = project["project"]["optional-dependencies"]

    def expand(extra):
        result = set()
        for requirement in extras[extra]:
            own = re.fullmatch(r"dataflow-learn\[(.*)\]", requirement)
            if own:
                for name in own[1].split(","):
                    result |= expand(name)
            else:
                result.add(requirement)
        return result

    assert expand("lab") <= expand("test")
    assert not any("cupy" in requirement for requirement in expand("lab"))
