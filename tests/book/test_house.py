"""The house: its map, how full a room may be, who may import whom, searchable names, types on the public surface."""

import ast
import functools
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import house  # noqa: E402

LIB = ROOT / "lib"
MODULES = sorted(path for path in LIB.rglob("*.py") if "__pycache__" not in path.parts)
FOLDERS = [ROOT / name for name in ("tools", "data/build", "benchmarks", "tests")]
FILES = MODULES + sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))
LONGEST_FUNCTION = 60  # lines of a body, its docstring not counted
# Names that say nothing to someone who searches for them


def dotted(path):
    """A module's name."""
    parts = path.relative_to(LIB).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module):
    """The room of a module: the package's child it belongs to."""
    return ".".join(module.split(".")[:2])


class Outline(NamedTuple):
    """What the rules look at in a file."""

    docstring: str | None
    names: set  # of variables, arguments, functions and classes
    imports: list  # names that it imports from the library
    lengths: dict  # lines of every function's body, its docstring not counted; nested ones and methods too


@functools.cache
def outline(source):
    """The outline of a file's text; read once, however many rules there are."""
    tree = ast.parse(source)
    names, imports, lengths = set(), [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            lengths[node.name, node.lineno] = length
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("edgelaw"):
            imports += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names if alias.name.startswith("edgelaw")]
    return Outline(ast.get_docstring(tree), names, imports, lengths)


# the map and the rooms -------------------------------------------------------------------------------------


def test_the_map_in_contributing_is_the_tree():
    assert house.page() == house.PAGE.read_text()


def test_a_new_room_makes_the_map_stale(monkeypatch):
    monkeypatch.setattr(house, "layers", lambda: [["edgelaw/curves"], ["edgelaw/spectrum"]])
    assert house.page() != house.PAGE.read_text()


def test_the_paths_that_contributing_names_exist():
    text = house.PAGE.read_text()
    paths = re.findall(r"`((?:lib|tests|data|benchmarks|tools)/[\w./-]*)`", text)
    assert len(paths) > 30
    for path in paths:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_modules_docstring_begins_by_saying_what_lives_there(path):
    docstring = outline(path.read_text()).docstring
    assert docstring
    assert re.match(r"\S.*\S", docstring.splitlines()[0])


# imports ---------------------------------------------------------------------------------------------------


def lint_imports(root):
    """Exit status and output of import-linter on a tree."""
    command = [
        Path(sys.executable).with_name("lint-imports"),
        "--no-cache",
        "--config",
        root / "pyproject.toml",
    ]
    environment = os.environ | {"PYTHONPATH": str(root / "lib")}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


PLANTED = [  # a file, a line to plant in it, the import that this is, and the contract that it breaks
    (
        "edgelaw/theory/gap.py",
        "from edgelaw import exact",
        "edgelaw.theory.gap -> edgelaw.exact",
        "Rooms of the library import the rooms below them only",
    ),
    (
        "edgelaw/data.py",
        "from edgelaw import spectrum",
        "edgelaw.data -> edgelaw.spectrum",
        "Rooms of the library import the rooms below them only",
    ),
    (
        "edgelaw_app/cli/predict.py",
        "import edgelaw_ledger",
        "edgelaw_app.cli.predict -> edgelaw_ledger",
        "The ledger may import all, the application the library, the library neither",
    ),
    (
        "edgelaw_ledger/checks/beyond.py",
        "from edgelaw_ledger.checks import regimes",
        "edgelaw_ledger.checks.beyond -> edgelaw_ledger.checks.regimes",
        "A check is nobody's helper",
    ),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What import-linter says of a copy of the library in which all wrong imports are planted."""
    root = tmp_path_factory.mktemp("house")
    shutil.copytree(LIB, root / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for file, line, _, _ in PLANTED:
        with open(root / "lib" / file, "a") as module:
            module.write(f"\n{line}\n")
    status, output = lint_imports(root)
    assert status == 1, output
    return output


@pytest.mark.parametrize(("file", "line", "wrong_import", "contract"), PLANTED)
def test_a_planted_wrong_import_turns_its_contract_red(report, file, line, wrong_import, contract):
    assert re.search(rf"^{re.escape(contract)}( \(.*\))? BROKEN", report, flags=re.M), report
    section = re.search(rf"^{re.escape(contract)}\n-+\n(.*?)(?=^-+\n|\Z)", report, flags=re.S | re.M)[1]
    assert re.search(rf"- +{re.escape(wrong_import)} \(l\.\d+\)", section), report


def private_imports(source, module):
    """The private names of other rooms that a module imports; the room `_common` is everybody's."""
    public = re.compile(r"edgelaw(_app|_ledger)?(\._common)?(\.[a-z][^.]*)*(\.[A-Za-z]\w*|\.__version__)?")
    names = outline(source).imports
    return [name for name in names if room(name) != room(module) and not public.fullmatch(name)]


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_module_imports_a_private_name_of_another_room(path):
    assert private_imports(path.read_text(), dotted(path)) == []


def test_a_private_import_would_be_noticed():
    assert private_imports("from edgelaw.spectrum import _window", "edgelaw_app.cli.spectrum") == [
        "edgelaw.spectrum._window"
    ]
    assert private_imports("from edgelaw.theory._shuffle_contour import x", "edgelaw.theory.free") == []
    assert private_imports("from edgelaw.theory._shuffle_contour import x", "edgelaw.laws") != []
    assert private_imports("from edgelaw import _hidden", "edgelaw.laws") != []
    assert private_imports("from edgelaw._common import arguments", "edgelaw.laws") == []


# names and sizes -------------------------------------------------------------------------------------------


def repeated(names):
    """Names that occur more than once."""
    return sorted({name for name in names if names.count(name) > 1})


def test_every_file_of_tests_has_a_name_of_its_own():
    """pytest imports them by their name alone, and stops where two files have one."""
    names = [path.name for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    assert len(names) > 50
    assert repeated(names) == []
    assert repeated(["test_a.py", "test_b.py", "test_a.py"]) == ["test_a.py"]


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_function_fits_a_screen(path):
    lengths = outline(path.read_text()).lengths
    assert {where: length for where, length in lengths.items() if length > LONGEST_FUNCTION} == {}


# types -----------------------------------------------------------------------------------------------------


def public_functions():
    """Pairs of (name, function) of the public surface: what the front doors and the public modules export."""
    library = LIB / "edgelaw"
    names = [
        f"edgelaw.{path.stem}"
        for path in library.iterdir()
        if path.name[0] != "_" and path.suffix in (".py", "")
    ]
    names += [f"edgelaw.theory.{path.stem}" for path in (library / "theory").glob("[!_]*.py")]
    for name in sorted(names):
        module = importlib.import_module(name)
        exported = getattr(module, "__all__", None) or [key for key in vars(module) if key[0] != "_"]
        for key in exported:
            value = getattr(module, key)
            if inspect.isclass(value) and value.__module__.startswith("edgelaw"):
                for method, function in inspect.getmembers(value, inspect.isfunction):
                    if method[0] != "_" and function.__module__.startswith("edgelaw"):
                        yield f"{name}.{key}.{method}", function
            elif inspect.isfunction(value) and value.__module__.startswith("edgelaw"):
                yield f"{name}.{key}", value


def missing_annotations(function):
    """The arguments of a function that have no annotation, and "return"."""
    signature = inspect.signature(function)
    missing = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.annotation is parameter.empty and parameter.name not in ("self", "cls")
    ]
    return missing + ["return"] * (signature.return_annotation is signature.empty)


def test_every_public_function_is_annotated():
    surface = dict(public_functions())
    assert len(surface) > 100
    assert {name: missing_annotations(one) for name, one in surface.items() if missing_annotations(one)} == {}


def test_a_missing_annotation_would_be_noticed():
    assert missing_annotations(lambda x: x) == ["x", "return"]


def test_the_package_says_that_it_is_typed():
    assert (LIB / "edgelaw" / "py.typed").is_file()
