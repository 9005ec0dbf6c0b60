"""Runs a TensorFlow 1 program, a script or a notebook, as it stands: ``dataflow run``."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import linecache
import os
import re
import sys
import traceback
import types
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dataflow.shim import import_hook

ON_PATH = Path(__file__).parent / "on_path"
_PACKAGE = str(Path(__file__).parents[1]) + os.sep
#: Packages whose programs this engine runs, or that say that a file is meant for it.
_OURS = (*import_hook.ANSWERED, "dataflow", "tflearn", "tensorlayer")
#: Packages of other systems: a program that imports one and no TensorFlow is named as theirs.
_OTHERS = {
    "torch": "PyTorch",
    "jax": "JAX",
    "theano": "Theano",
    "caffe": "Caffe",
    "mxnet": "MXNet",
    "paddle": "PaddlePaddle",
    "chainer": "Chainer",
}
PYTHON_2_HINT = "If it is written for Python 2, run it with --python2."


class ProgramError(Exception):
    """Why a program cannot be run, in one sentence with its line."""


class Piece(NamedTuple):
    """A part of a program that is run as one: a script, or a cell of a notebook."""

    filename: str  # as tracebacks show it
    source: str


# ---- reading ----------------------------------------------------------------------------------


def read_program(path: Path, python2: bool = False) -> list[Piece]:
    """The program's text: one piece for a script, one for each cell of a notebook.

    Raises `ProgramError` for what is neither.
    """
    if path.is_dir() and (path / "__main__.py").is_file():
        path = path / "__main__.py"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ProgramError(f"There is no file {path}.") from None
    except OSError as error:
        raise ProgramError(f"{path} cannot be read: {error.strerror or error}.") from None
    if path.suffix == ".ipynb":
        from dataflow.shim.notebooks import cells_of

        pieces = cells_of(path, data)
    else:
        pieces = [Piece(str(path), _decoded(path, data))]
    if python2:
        from dataflow.shim.python2 import to_python3

        pieces = [piece._replace(source=to_python3(piece.source)) for piece in pieces]
    return pieces


def _decoded(path: Path, data: bytes) -> str:
    try:
        return importlib.util.decode_source(data)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ProgramError(f"{path} is not a Python program: {error}.") from None


def parse(piece: Piece) -> ast.Module:
    """The syntax tree; raises `ProgramError` with the line that Python 3 does not understand."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\d" in a string, `is` with a number: habits of the time
        try:
            return ast.parse(piece.source, piece.filename)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            where = f"{piece.filename}, line {line}" if line else piece.filename
            text = getattr(error, "msg", None) or str(error)
            end = "" if text.endswith(("?", ".")) else "."
            raise ProgramError(f"{where} is not Python 3: {text}{end} {PYTHON_2_HINT}") from None


# ---- is it a TensorFlow program? ----------------------------------------------------------------


def _imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base, node.lineno
            yield from (
                (f"{base.rstrip('.')}.{a.name}".lstrip("."), node.lineno) for a in node.names
            )


def refuse_other_programs(path: Path, trees: Sequence[tuple[str, ast.AST]]) -> None:
    """Raises `ProgramError` unless the program, or a file of its own that it imports, needs TensorFlow.

    A program that names tensorflow in a string (``import_module("tensorflow")``) counts, too, one that
    imports an installed package that imports TensorFlow, and one that names a file of its own that does
    (``subprocess.run(["python", "worker.py"])``).
    """
    other: str | None = None
    missing: str | None = None
    roots: set[str] = set()
    seen: set[Path] = {path.resolve()}
    waiting = [(name, tree, path.parent) for name, tree in trees]
    while waiting:
        filename, tree, folder = waiting.pop()
        files: list[Path] = []
        for name, line in _imports(tree):
            root = name.lstrip(".").partition(".")[0]
            if root in _OURS:
                return
            roots.add(root)
            if root in _OTHERS and other is None:
                other = f"{filename}, line {line}, needs {root}: it is a {_OTHERS[root]} program"
            files.extend(_own_files(name, {folder, path.parent}))
        missing = missing or _missing_package(filename, tree, {folder, path.parent})
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if re.fullmatch(r"(tensorflow|keras)(\.[\w.]+)?", node.value):
                    return
                named = (path.parent / word for word in node.value.split() if word.endswith(".py"))
                files.extend(file for file in named if file.is_file())
        for file in files:
            if file.resolve() in seen:
                continue
            seen.add(file.resolve())
            try:
                source = file.read_text(encoding="utf-8", errors="replace")
                waiting.append((str(file), parse(Piece(str(file), source)), file.parent))
            except (OSError, ProgramError):
                return  # it cannot be told: let it run
    if any(_needs_tensorflow(root) for root in sorted(roots - sys.stdlib_module_names)):
        return
    if other is None and missing is not None:
        raise ProgramError(missing)
    if other is None:
        other = (
            f"{path} is not a TensorFlow program: neither it nor a file of its own that it imports"
        )
        other += " imports tensorflow or keras"
    raise ProgramError(f"{other}. dataflow runs programs for TensorFlow 1; try python {path}.")


def _missing_package(filename: str, tree: ast.AST, folders: set[Path]) -> str | None:
    """A sentence on the first package that the file imports and that is nowhere; None where it finds all."""
    from dataflow.shim.gone_modules import GONE

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        else:
            continue
        for name in names:
            root = name.partition(".")[0]
            if root in sys.stdlib_module_names or root in GONE or root in _OTHERS:
                continue
            if any(
                (folder / root).is_dir() or (folder / f"{root}.py").is_file() for folder in folders
            ):
                continue
            if importlib.util.find_spec(root) is None:
                return (
                    f"{filename}, line {node.lineno}: it imports {root}, which is not installed here, and neither"
                    " tensorflow nor keras itself. If that package is for TensorFlow 1, install it."
                )
    return None


_IMPORTS_TENSORFLOW = re.compile(rb"^\s*(?:import|from)\s+(?:tensorflow|keras)\b", re.MULTILINE)


def _needs_tensorflow(package: str) -> bool:
    """Whether a file of the installed package imports TensorFlow, as tflearn's and sonnet's do."""
    try:
        spec = importlib.util.find_spec(package) if package else None
    except (ImportError, ValueError):
        return False
    if spec is None or package in _OTHERS:
        return False
    files = [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []
    for folder in spec.submodule_search_locations or ():
        files.extend(sorted(Path(folder).rglob("*.py")))
    for file in files:
        try:
            if _IMPORTS_TENSORFLOW.search(file.read_bytes()):
                return True
        except OSError:
            continue
    return False


def _own_files(name: str, folders: set[Path]) -> Iterator[Path]:
    parts = [part for part in name.split(".") if part]
    for folder in folders:
        for n in range(len(parts), 0, -1):
            stem = folder.joinpath(*parts[:n])
            for file in (stem.with_name(stem.name + ".py"), stem / "__init__.py"):
                if file.is_file():
                    yield file


# ---- running ----------------------------------------------------------------------------------


def run_program(path: Path, arguments: Sequence[str], *, python2: bool = False) -> int:
    """Runs the program as Python would, with ``tensorflow`` answered by this engine.

    ``sys.argv``, ``sys.path[0]``, ``__name__`` and ``__file__`` are what ``python path arguments``
    makes them; the working folder stays. What it prints is its own; the return value is its exit
    status, 1 where it fails. What this engine does not have is told in one sentence with the program's
    line on stderr.
    """
    import dataflow
    from dataflow.shim.python2_values import as_python2

    try:
        pieces = read_program(path, python2)
        trees = [parse(piece) for piece in pieces]
        refuse_other_programs(path, list(zip((p.filename for p in pieces), trees, strict=True)))
        if python2:
            trees = [as_python2(tree) for tree in trees]
        dataflow.as_tensorflow()
    except (ProgramError, RuntimeError) as error:
        print(f"dataflow run: {error}", file=sys.stderr)
        return 1
    _let_children_find_it()
    if python2:
        _translate_imports(path.parent)
    main = _as_main(path, arguments)
    for piece in pieces:
        lines = piece.source.splitlines(keepends=True)
        if not os.path.isfile(piece.filename):  # a cell: tracebacks find its lines here
            linecache.cache[piece.filename] = (len(piece.source), None, lines, piece.filename)
    status = 0
    try:
        for piece, tree in zip(pieces, trees, strict=True):
            _execute(piece, tree, main, shows_values=path.suffix == ".ipynb")
    except SystemExit as error:
        status = _exit_status(error)
    except KeyboardInterrupt:
        print("\ndataflow run: interrupted", file=sys.stderr)
        status = 130
    except BaseException as error:
        tell(error)
        status = 1
    return status


def _as_main(path: Path, arguments: Sequence[str]) -> types.ModuleType:
    """A fresh ``__main__`` and the command line, as for ``python path arguments``."""
    main = types.ModuleType("__main__")
    folder = path if path.is_dir() else path.parent
    main.__file__ = str(path.absolute())
    main.__dict__["__builtins__"] = builtins
    main.__dict__["__cached__"] = None
    sys.modules["__main__"] = main
    sys.argv[:] = [str(path), *arguments]
    # What stands there is the folder of the `dataflow` command, or "" for python -m.
    sys.path[0] = str(folder.absolute())
    # A process that multiprocessing spawns takes over this list, and no finder.
    sys.path.insert(1, str(ON_PATH))
    # Scripts that were exported from notebooks call get_ipython().
    if "get_ipython" not in vars(builtins):
        from dataflow.shim.notebooks import NoIPython

        main.__dict__["get_ipython"] = NoIPython
    return main


def _let_children_find_it() -> None:
    """Python processes that the program starts (workers, multiprocessing) find this engine, too."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    # This engine itself: a checkout that was started in place is not on their path.
    wanted = [str(ON_PATH), str(Path(_PACKAGE).parent)]
    rest = [folder for folder in folders if folder and folder not in wanted]
    os.environ["PYTHONPATH"] = os.pathsep.join([*wanted, *rest])


def _execute(piece: Piece, tree: ast.Module, main: types.ModuleType, *, shows_values: bool) -> None:
    body = tree.body
    last = [body.pop()] if shows_values and body and isinstance(body[-1], ast.Expr) else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        code = compile(tree, piece.filename, "exec", dont_inherit=True)
        shown = compile(ast.Interactive(last), piece.filename, "single", dont_inherit=True)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    exec(code, main.__dict__)
    if last:
        exec(shown, main.__dict__)  # prints the value, as a notebook does


def _translate_imports(folder: Path) -> None:
    """Files beside the program are translated from Python 2 when it imports them."""
    from importlib.machinery import FileFinder, SourceFileLoader

    from dataflow.shim.python2 import to_python3
    from dataflow.shim.python2_values import as_python2

    root = str(folder.absolute())

    class Translating(SourceFileLoader):
        def get_code(self, fullname: str) -> types.CodeType:  # no cached bytecode: it is another's
            path = self.get_filename(fullname)
            source = importlib.util.decode_source(self.get_data(path))
            tree = ast.parse(to_python3(source), path)
            return compile(as_python2(tree), path, "exec", dont_inherit=True)

    def hook(path: str) -> FileFinder:
        if not (os.path.abspath(path) + os.sep).startswith(root + os.sep):
            raise ImportError(path)
        return FileFinder(path, (Translating, [".py"]))

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()


def _exit_status(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


# ---- telling what went wrong --------------------------------------------------------------------


def tell(error: BaseException) -> None:
    """Prints what stopped the program: one sentence where this engine lacks something, else as Python."""
    line = line_of(error)
    if sentence := _what_is_missing(error):
        print(f"dataflow run: {line or 'the program'}: {sentence}", file=sys.stderr)
        return
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_runner(f.filename)]
    hint = ""
    if isinstance(error, NameError) and error.name in ("xrange", "unicode", "raw_input", "long"):
        hint = f"dataflow run: {PYTHON_2_HINT}"
    print("Traceback (most recent call last):", file=sys.stderr)
    print("".join(traceback.format_list(frames)), end="", file=sys.stderr)
    print("".join(traceback.format_exception_only(error)), end="", file=sys.stderr)
    if hint:
        print(hint, file=sys.stderr)


def line_of(error: BaseException) -> str:
    """``script.py, line 12``: the innermost line of the program itself that led to ``error``."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        name = frame.filename
        if not name.startswith((_PACKAGE, "<frozen ", sys.prefix, sys.base_prefix)):
            shown = os.path.relpath(name) if os.path.isfile(name) else name
            return f"{name if shown.startswith('..') else shown}, line {frame.lineno}"
    return ""


def _is_runner(filename: str) -> bool:
    return filename == __file__ or filename.endswith(os.path.join("dataflow", "cli", "__init__.py"))


def _what_is_missing(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, (AttributeError, ImportError)) and "is not part of dataflow" in text:
        return text
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"it imports {error.name}, which is not installed here."
    return ""
