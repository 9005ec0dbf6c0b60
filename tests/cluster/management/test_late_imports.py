"""The module that stands before a slow one where Ray is imported."""

import os
import subprocess
import sys
import textwrap

import pytest

from dataflow.cluster.management import private_ray

PACKAGE = {
    "__init__.py": "print('loaded'); from .syntax import *",
    "syntax.py": """
        from rfc3987_syntax.terms import TERMS
        def is_valid_syntax(term, value): return term in TERMS and value.isascii()
        """,
    "terms.py": "TERMS = ['iri']",
}


def printed(code, *path):
    """What a program prints, line by line, that has these directories first on its path."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def installed(tmp_path):
    """A directory with a package of the name."""
    (tmp_path / "rfc3987_syntax").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "rfc3987_syntax" / name).write_text(textwrap.dedent(text))
    return tmp_path


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("from rfc3987_syntax import is_valid_syntax; print('imported')", ["imported"]),
        (
            """
            from rfc3987_syntax import is_valid_syntax as valid
            print(valid('iri', 'a'), valid('iri', 'ä'), valid('b', 'a'))
            """,
            ["loaded", "True False False"],
        ),
        (
            """
            import rfc3987_syntax
            print(rfc3987_syntax.TERMS, hasattr(rfc3987_syntax, 'no_such_name'))
            import rfc3987_syntax
            print(rfc3987_syntax.syntax.TERMS)
            """,
            ["loaded", "['iri'] False", "['iri']"],
        ),
        ("from rfc3987_syntax.terms import TERMS; print(TERMS)", ["['iri']"]),
    ],
)
def test_the_package_is_loaded_when_it_is_called(installed, code, said):
    assert printed(code, private_ray.LATE_IMPORTS, installed) == said


def test_where_there_is_no_package_there_is_none():
    code = """
        try:
            import rfc3987_syntax
        except ModuleNotFoundError as error:
            print(error.name)
        """
    assert printed(code, private_ray.LATE_IMPORTS) == ["rfc3987_syntax"]


def test_the_directory_holds_nothing_else():
    # Whatever lies there stands before the package of its name in all of Ray's processes.
    assert {p for p in os.listdir(private_ray.LATE_IMPORTS) if p.endswith(".py")} == {
        "rfc3987_syntax.py"
    }


def test_the_path_is_as_before_when_ray_is_there():
    before = list(sys.path)
    with private_ray.late_imports():
        assert sys.path == [private_ray.LATE_IMPORTS, *before]
    assert sys.path == before
