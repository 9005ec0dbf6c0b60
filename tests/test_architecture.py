"""The house rules of the source: who may import whom, and what `import dataflow` may load."""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("architecture")  # in one process, which reads each file once

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "dataflow": ROOT / "dataflow",
    "dataflow_widgets": ROOT / "widgets" / "dataflow_widgets",
    "dataflow_datasets": ROOT / "datasets" / "dataflow_datasets",
}

LAYERS = {
    0: (
        *(
            "errors",
            "dtypes",
            "shapes",
            "device_spec",
            "windows",
            "python_functions",
            "capabilities",
        ),
        *(
            "addresses",
            "cluster_def",
            "cluster_spec",
            "display",
            "gfile",
            "logging",
            "flags",
            "flag_values",
            "namespaces",
            "missing",
            "user_cache",
            "extras",
            "tensorflow_numbers",
        ),
        "providers",
        # Readers and writers of files and messages know nothing of graphs: kernels use them.
        "formats",
    ),
    1: ("graph", "kernels"),
    2: ("ops", "autodiff"),
    3: ("rewrites", "placement"),
    4: ("runtime",),
    5: (
        *("data", "train", "layers", "rnn", "losses", "metrics", "estimator", "feature_column"),
        *("summary", "cluster", "introspect", "keras", "saved_model", "distributions"),
        "distribute",
        "linear_operators",
        "autograph",
        "functions",
    ),
    6: ("cli", "course", "shim"),
}
LAYER_OF = {name: layer for layer, names in LAYERS.items() for name in names}
# Modules that only gather names for users (dataflow/__init__.py, dataflow/nn.py, ...) stand on top.
TOP = max(LAYERS)

# Same layer, or allowed by the layers, and still wrong: (importer, imported).
FORBIDDEN_PAIRS = {("kernels", "graph"), ("graph", "kernels"), ("ops", "kernels")}

# The wings of a folder, from the lowest: none imports one that stands after it.
WINGS = {"cluster": ("transport", "partition", "execution", "management")}

# Third-party packages that only these modules may import, at the top or inside a function.
ONLY_IN = {
    "ray": ("dataflow.cluster.management.ray_backend",),
    "cupy": ("dataflow.kernels.xp", "dataflow.kernels.cuda", "dataflow.cli.doctor"),
    "cupyx": ("dataflow.kernels.xp", "dataflow.kernels.cuda"),
    "tensorflow": (),
}


@dataclass(frozen=True)
class Import:
    """One imported module: where, and whether it loads with the importer or later."""

    target: str
    line: int
    late: bool


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def called_name(node: ast.AST) -> str:
    """The last part of the name of what a call calls; "" for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


@functools.lru_cache(1)  # the trees of all files at once would take hundreds of MB
def tree_of(source: str) -> ast.Module:
    return ast.parse(source)


def is_self(node: ast.expr) -> bool:
    """Whether an expression is the object itself: ``self``, ``cls`` or ``super()``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


@dataclass(frozen=True)
class Names:
    """What one module says about names with an underscore, and its ``from a import b``.

    ``own`` are those that its classes define, ``private`` (line, name) those of other objects.
    """

    own: set[str]
    private: list[tuple[int, str]]
    imports: list[ast.ImportFrom]


@functools.cache
def names_of(source: str) -> Names:
    names = Names(set(), [], [])
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.ImportFrom):
            names.imports.append(node)
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    names.own.add(member.name)
                elif isinstance(member, ast.AnnAssign | ast.Assign):
                    targets = (
                        [member.target] if isinstance(member, ast.AnnAssign) else member.targets
                    )
                    names.own.update(t.id for t in targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.Attribute):
            if is_self(node.value):
                if isinstance(node.ctx, ast.Store):
                    names.own.add(node.attr)
            elif node.attr.startswith("_") and not node.attr.startswith("__"):
                names.private.append((node.lineno, node.attr))
    return names


@functools.cache  # several tests ask for all files
def imports_of(source: str, module: str, *, is_package: bool = False) -> tuple[Import, ...]:
    """Every import that can run; those under `if TYPE_CHECKING:` never do.

    `from a import b` yields both a and a.b: which of the two is meant is known only at run time. Of
    an f-string given to `import_module` only the beginning is known. What `provide` is given by name
    (`dataflow.providers`) is imported by who gives it.
    """
    package = module if is_package else module.rpartition(".")[0]
    names_of(source)  # while the tree is there
    tree = tree_of(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def by_string(node: ast.expr) -> str:
        """The module that an expression names, as far as it can be told."""
        if isinstance(node, ast.Name) and node.id in constants:
            node = constants[node.id]
        if isinstance(node, ast.JoinedStr) and node.values:
            node = node.values[0]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value.rstrip(".")
        return ""

    def visit(node: ast.AST, late: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, late)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join([*parts, base] if base else parts)
            yield Import(base, node.lineno, late)
            for alias in node.names:
                yield Import(f"{base}.{alias.name}", node.lineno, late)
        elif is_type_checking(node):
            for child in node.orelse:
                yield from visit(child, late)
        else:
            called = called_name(node)
            if called == "import_module" and (target := by_string(node.args[0])):
                yield Import(target, node.lineno, late)
            if called.endswith("provide"):
                for keyword in node.keywords:
                    if target := by_string(keyword.value).partition(":")[0]:
                        yield Import(target, keyword.value.lineno, True)
            inside = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, inside)

    return tuple(visit(tree, False))


def part_of(module: str) -> str:
    """The name a layer is given to: "graph" for dataflow.graph.tensor, "" for dataflow itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def layer_of(module: str) -> int:
    return LAYER_OF.get(part_of(module), TOP)


def wing_of(module: str) -> int:
    """The place of a module's wing in its folder, from below; -1 outside of wings."""
    wings, name = WINGS.get(part_of(module), ()), f"{module}..".split(".")[2]
    return wings.index(name) if name in wings else -1


def violations(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """What is wrong with the imports of one module, as sentences."""
    found = []
    package = module.split(".")[0]
    importer = part_of(module)
    own_layer = layer_of(module)
    for item in imports_of(source, module, is_package=is_package):
        where = f"{module}, line {item.line}"
        target_package, _, rest = item.target.partition(".")
        allowed = ONLY_IN.get(target_package)
        if allowed is not None and not any(
            module == name or module.startswith(name + ".") for name in allowed
        ):
            found.append(
                f"{where}: imports {target_package}; only {allowed or 'other environments'} may"
            )
        if package != "dataflow":
            continue
        if target_package in ("dataflow_widgets", "dataflow_datasets"):
            if not item.late:
                found.append(f"{where}: imports {target_package} when it loads; do it on first use")
            elif own_layer < TOP and target_package == "dataflow_widgets":
                found.append(f"{where}: {importer} (layer {own_layer}) imports {target_package}")
        if target_package != "dataflow" or not rest:
            continue
        imported = part_of(item.target)
        if imported == importer and wing_of(item.target) > wing_of(module) >= 0:
            found.append(f"{where}: imports {item.target}, of a wing that stands above its own")
        # `from dataflow import x` in a facade is x itself; below, x's layer decides.
        if imported == importer:
            continue
        layer = layer_of(item.target)
        if layer > own_layer:
            found.append(
                f"{where}: {importer} (layer {own_layer}) imports {imported} (layer {layer})"
            )
        if (importer, imported) in FORBIDDEN_PAIRS:
            found.append(f"{where}: {importer} never imports {imported}")
    return found


def modules() -> Iterator[tuple[str, Path]]:
    """Every source file; what a stub lists is imported by its module, when it is first used."""
    for package, folder in PACKAGES.items():
        for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.pyi")]):
            if "node_modules" in path.parts:
                continue
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            yield ".".join(part for part in parts if part != "__init__"), path


def test_imports_point_downwards():
    found = []
    for module, path in modules():
        is_package = path.stem == "__init__"
        found += violations(path.read_text(encoding="utf-8"), module, is_package=is_package)
    assert not found, "\n" + "\n".join(dict.fromkeys(found))


@pytest.mark.parametrize(
    ("module", "source", "says"),
    [
        ("dataflow.shapes", "from dataflow.graph import tensor", "layer 0"),
        ("dataflow.graph.tensor", "def f():\n    from dataflow.ops import math", "layer 1"),
        ("dataflow.graph.tensor", "from ..runtime.session import Session", "layer 1"),
        ("dataflow.graph.tensor", "from .. import runtime", "layer 1"),
        ("dataflow.kernels.math", "import dataflow.graph.tensor", "never imports graph"),
        ("dataflow.ops.math", "from dataflow.kernels import math", "never imports kernels"),
        ("dataflow.cluster.management.server", "def f():\n    import ray", "imports ray"),
        (
            "dataflow.cluster.transport.messages",
            "def f():\n    from dataflow.cluster.execution import client",
            "of a wing that stands above",
        ),
        ("dataflow_widgets.launch", "import ray.util", "imports ray"),
        ("dataflow.ops.math", "import cupy as cp", "imports cupy"),
        ("dataflow.notebook", "import dataflow_widgets.display", "when it loads"),
        (
            "dataflow.display",
            "def f():\n    import dataflow_widgets",
            "display (layer 0) imports dataflow_widgets",
        ),
        ("dataflow.runtime.plan", "import dataflow.nn", "layer 4"),
        ("dataflow.kernels.checkpoint", "from dataflow.train.saver import Saver", "layer 1"),
        ("dataflow.formats.sstable", "from dataflow.train.saver import Saver", "layer 0"),
        ("dataflow.ops.math", "HOME = 'dataflow.runtime'\nimport_module(HOME)", "layer 4"),
        ("dataflow.graph.graph", "def f():\n    import_module('dataflow.ops.all')", "layer 2"),
        ("dataflow.graph.graph", "importlib.import_module(f'dataflow.ops.{name}')", "layer 2"),
        ("dataflow.graph.graph", "provide(all_ops='dataflow.ops.all')", "layer 2"),
        ("dataflow.graph.graph", "provide(session='dataflow.runtime.session:Session')", "layer 4"),
    ],
)
def test_a_wrong_import_is_found(module, source, says):
    (first, *_) = violations(source, module)
    assert says in first


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("dataflow.ops.math", "from dataflow.graph.tensor import Tensor"),
        ("dataflow.graph.tensor", "if TYPE_CHECKING:\n    from dataflow.runtime import session"),
        ("dataflow.notebook", "def f():\n    import dataflow_widgets.display"),
        ("dataflow.cluster.management.ray_backend", "import ray"),
        ("dataflow.kernels.cuda.elementwise", "import cupy"),
        ("dataflow.nn", "from dataflow.ops.math import add"),
        ("dataflow.formats.sstable", "from dataflow.formats.atomic_files import replace_with"),
        ("dataflow.cluster.management.server", "import raylib_of_another_name"),
    ],
)
def test_a_right_import_passes(module, source):
    assert violations(source, module) == []


#: How many files may import each other in a circle, imports inside functions included.
MOST_IN_A_CIRCLE = 12


def imported_modules(files: dict[str, Path]) -> dict[str, set[str]]:
    """The modules that each imports, at the top or inside a function.

    Of `from package import module` that is the module alone: the package is imported before any of its
    modules, whether it is named or not.
    """
    result = {}
    for module, path in files.items():
        targets: dict[str, set[int]] = {}
        source = path.read_text(encoding="utf-8")
        for item in imports_of(source, module, is_package=path.stem == "__init__"):
            targets.setdefault(item.target, set()).add(item.line)
        taken = {  # package -> lines that take one of its modules
            package: {
                line
                for name in targets
                if name.rpartition(".")[0] == package
                for line in targets[name]
                if name in files
            }
            for package in targets
        }
        other = {
            package: {
                line
                for name in targets
                if name.rpartition(".")[0] == package
                for line in targets[name]
                if name not in files
            }
            for package in targets
        }
        result[module] = {
            name
            for name, lines in targets.items()
            if name in files and name != module and lines - (taken[name] - other[name])
        }
    return result


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules of which each imports, by some way, each other; the largest first.

    R. Tarjan, "Depth-first search and linear graph algorithms", 1972.
    """
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for target in sorted(imports[module]):
            if target not in number:
                visit(target)
            if target in stack:
                lowest[module] = min(lowest[module], lowest[target])
        if lowest[module] == number[module]:
            circle = stack[stack.index(module) :]
            del stack[-len(circle) :]
            if len(circle) > 1:
                found.append(set(circle))

    for module in imports:
        if module not in number:
            visit(module)
    return sorted(found, key=len, reverse=True)


def test_no_circle_of_imports_is_large():
    files = {module: path for module, path in modules() if path.suffix == ".py"}
    (largest, *_) = circles(imported_modules(files))
    assert len(largest) <= MOST_IN_A_CIRCLE, "\n".join(sorted(largest))


def test_a_circle_is_found(tmp_path):
    sources = {
        "p": "",
        "p.a": "def f():\n    from p import b",
        "p.b": "import p.c",
        "p.c": "from p.a import f",
        "p.d": "from p import a, VERSION",
    }
    files = {}
    for module, source in sources.items():
        files[module] = tmp_path / f"{module}.py"
        files[module].write_text(source)
    imports = imported_modules(files)
    assert imports == {
        "p": set(),
        "p.a": {"p.b"},
        "p.b": {"p.c"},
        "p.c": {"p.a"},
        "p.d": {"p", "p.a"},
    }
    assert circles(imports) == [{"p.a", "p.b", "p.c"}]
    assert circles({"a": {"b"}, "b": set()}) == []


#: How many folders (or modules beside them) import one that stands above them, imports inside of functions
#: included: tf announces its notebook, ops call `gradients` and a tape, savers write summaries.
MOST_ARROWS_UP = 4


def folder_of(module: str) -> str:
    return (
        ".".join(module.split(".")[:2]) if module.startswith("dataflow.") else module.split(".")[0]
    )


def arrows_up(imports: dict[str, set[str]]) -> set[tuple[str, str]]:
    """The fewest arrows (importer, imported) that point upwards, however the names are stacked.

    Only within circles is there any. Each is stacked from below, the cheapest way to every set of its
    names first (R. Bellman's shortest path through all sets, so circles must be small).
    """
    found: set[tuple[str, str]] = set()
    for circle in circles(imports):
        cheapest: dict[frozenset[str], frozenset[tuple[str, str]]] = {frozenset(): frozenset()}
        for _ in circle:
            larger: dict[frozenset[str], frozenset[tuple[str, str]]] = {}
            for below, arrows in cheapest.items():
                for name in circle - below:
                    above = imports[name] & (circle - below - {name})
                    now = arrows | {(name, target) for target in above}
                    stack = below | {name}
                    if stack not in larger or len(now) < len(larger[stack]):
                        larger[stack] = now
            cheapest = larger
        found |= cheapest[frozenset(circle)]
    return found


def test_few_folders_import_what_stands_above_them():
    files = {module: path for module, path in modules() if path.suffix == ".py"}
    folders: dict[str, set[str]] = {folder_of(module): set() for module in files}
    for module, targets in imported_modules(files).items():
        own = folder_of(module)
        folders[own] |= {folder_of(target) for target in targets} - {own}
    (largest, *_) = circles(folders)
    assert len(largest) <= MOST_IN_A_CIRCLE, sorted(largest)
    assert len(arrows_up(folders)) <= MOST_ARROWS_UP, sorted(arrows_up(folders))


def test_arrows_that_point_upwards_are_counted():
    assert arrows_up({"a": {"b"}, "b": set()}) == set()
    assert arrows_up({"a": {"b"}, "b": {"c"}, "c": {"a", "b"}}) == {("b", "c")}
    two = arrows_up({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}})
    assert len(two) == 2


def private_names(source: str) -> list[str]:
    """Names with an underscore that are taken from another file of the project."""
    return [
        f"line {node.lineno}: {node.module}.{alias.name}"
        for node in names_of(source).imports
        if (node.module or "").partition(".")[0] in PACKAGES
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]


def test_no_file_takes_a_private_name_of_another():
    found = {
        module: names for module, path in modules() if (names := private_names(path.read_text()))
    }
    assert not found


def test_a_private_name_is_found():
    source = "def f():\n    from dataflow.graph.graph import Graph, _secret\n"
    assert private_names(source) == ["line 2: dataflow.graph.graph._secret"]
    assert not private_names(
        "from dataflow.ops import operators as _operators\nfrom os import _exit\n"
    )


#: Names with an underscore that others may use, and why.
THEIR_OWN_NAMES = {
    # Python's named tuples, frames and exit; IPython's display methods; Ray's undocumented module.
    *("_asdict", "_fields", "_make", "_replace", "_getframe", "_exit"),
    *("_repr_html_", "_repr_mimebundle_", "_private"),
    # TensorFlow 1's own: programs written for it call or set these, so they keep their names.
    *(
        "_add_control_inputs",
        "_remove_all_control_inputs",
        "_set_attr",
        "_set_device",
        "_update_input",
        "_as_node_def_input",
    ),
    *("_as_variant_tensor", "_get_save_slice_info", "_set_save_slice_info", "_ref"),
    "_lazy_read",
    *("_initial_value", "_initializer_op", "_node_def", "_op", "_unsafe_unfinalize"),
    *(
        "_cell",
        "_cells",
        "_slots",
        "_non_slot_dict",
        "_trainable_weights",
        "_non_trainable_weights",
    ),
    # What matplotlib's axes share, for `dataflow/shim/old_axes.py`.
    *("_AxesBase", "_axes"),
    # What pandas of today does in place, for `dataflow/shim/old_pandas.py`.
    *("_mgr", "_update_inplace"),
    # The methods of its feature columns, which programs define.
    *("_get_dense_tensor", "_get_sparse_tensors", "_get_sequence_dense_tensor", "_num_buckets"),
    *("_variable_shape", "_var_scope_name", "_parse_example_spec", "_transform_feature"),
    *("_get_config", "_from_config", "_is_v2_column"),
}
#: Packages whose classes users subclass or explore in a notebook: a public name would be in their way
#: there, so the files of each share names with an underscore among themselves.
SHARE_PRIVATE_NAMES = (
    *("dataflow.keras", "dataflow.estimator", "dataflow.train", "dataflow.distributions"),
    *("dataflow_widgets.training_monitor", "dataflow_widgets.cluster_"),
)


def private_uses(source: str) -> list[tuple[int, str]]:
    """``other._name`` where no class of this module defines ``_name``: (line, name)."""
    names = names_of(source)
    own = names.own | THEIR_OWN_NAMES
    return [(line, name) for line, name in names.private if name not in own]


def test_no_module_uses_private_attributes_of_another():
    shared: dict[str, set[str]] = {}
    for module, path in modules():
        for package in SHARE_PRIVATE_NAMES:
            if module.startswith(package):
                names = names_of(path.read_text(encoding="utf-8"))
                shared.setdefault(package, set()).update(names.own)
    found = []
    for module, path in modules():
        allowed = {
            name for package in shared if module.startswith(package) for name in shared[package]
        }
        for line, name in private_uses(path.read_text(encoding="utf-8")):
            if name not in allowed:
                found.append(f"{module}, line {line}: {name}")
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(op):\n    return op._inputs", ["_inputs"]),
        ("class A:\n    def f(self, graph):\n        graph._nodes.clear()", ["_nodes"]),
        ("import dataflow.dtypes as d\nd._TABLE", ["_TABLE"]),
        ("class A:\n    def f(self, other):\n        self._x = other._x", []),
        ("class A:\n    def _f(self): ...\ndef g(a):\n    a._f()", []),
        ("class A(B):\n    def f(self):\n        super()._f(), self._g()", []),
        ("def f(row):\n    return row._replace(a=1)", []),
    ],
)
def test_a_private_attribute_of_another_is_found(source, names):
    assert [name for _, name in private_uses(source)] == names


def test_no_utils():
    found = [module for module, path in modules() if path.stem in ("utils", "util", "helpers")]
    # TensorFlow's own public name, which programs import.
    assert [module for module in found if module != "dataflow.contrib.util"] == []


@pytest.mark.parametrize("folder", ["widgets", "datasets"])
def test_folders_of_packages_shadow_nothing(folder):
    # A loose module or an __init__.py here would be importable as other people's `datasets`.
    assert [path.name for path in (ROOT / folder).glob("*.py")] == []


# Lists what the interpreter loaded beyond what NumPy alone loads.
LOADED = """
import sys
import numpy
before = set(sys.modules)
import {module}
new = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(new - set(sys.stdlib_module_names)))
"""


def loaded_by(module: str) -> set[str]:
    path = os.pathsep.join(str(ROOT / name) for name in (".", "widgets", "datasets"))
    result = subprocess.run(
        [sys.executable, "-c", LOADED.format(module=module)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return set(result.stdout.split())


def test_import_dataflow_loads_numpy_and_nothing_else():
    assert loaded_by("dataflow") == {"dataflow"}


def test_import_dataflow_leaves_to_others_what_takes_long_to_load():
    program = "import sys, numpy; before = set(sys.modules); import dataflow; print(*set(sys.modules) - before)"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    loaded = ran.stdout.split()
    assert "dataflow.runtime.plan" in loaded
    # Of the standard library: 15 ms in all, for errors and for GPUs.
    assert not {"difflib", "html", "bz2", "subprocess", "ctypes.util"}.intersection(loaded)


def test_import_dataflow_datasets_loads_neither_pandas_nor_scikit_learn():
    assert loaded_by("dataflow_datasets") <= {"dataflow", "dataflow_datasets"}


def test_what_a_module_loads_is_seen():
    # The check above would pass for ever if it saw nothing.
    assert "pytest" in loaded_by("pytest")
