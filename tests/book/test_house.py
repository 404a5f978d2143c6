"""The house: its map, how full a room may be, who may import whom, searchable names, types on the public surface."""

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import house  # noqa: E402

LIB = ROOT / "lib"
MODULES = sorted(path for path in LIB.rglob("*.py") if "__pycache__" not in path.parts)
LONGEST_FUNCTION = 60  # lines of a body, its docstring not counted
# Names that say nothing to someone who searches for them
UNSEARCHABLE = {"found", "apart", "freely", "wanted", "knock", "nothing", "said", "told"}


def dotted(path):
    """A module's name."""
    parts = path.relative_to(LIB).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module):
    """The room of a module: the package's child it belongs to."""
    return ".".join(module.split(".")[:2])


def functions(path):
    """All functions of a module, nested ones and methods too."""
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


# the map and the rooms -------------------------------------------------------------------------------------


def test_the_map_in_contributing_is_the_tree():
    assert house.page() == house.PAGE.read_text()


def test_a_new_room_makes_the_map_stale(monkeypatch):
    monkeypatch.setattr(house, "layers", lambda: [["curves"], ["spectrum"]])
    assert house.page() != house.PAGE.read_text()


def test_the_paths_that_contributing_names_exist():
    text = house.PAGE.read_text()
    paths = re.findall(r"`((?:lib|tests|data|benchmarks|tools)/[\w./-]*)`", text)
    assert len(paths) > 30
    for path in paths:
        assert (ROOT / path).exists(), path


def test_no_folder_of_the_library_shows_more_than_fifteen_entries():
    folders = {path.parent for path in MODULES}
    assert len(folders) > 8
    for folder in folders:
        assert len(house.entries(folder)) <= house.MOST_ENTRIES, (folder.name, house.entries(folder))


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_modules_docstring_begins_by_saying_what_lives_there(path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))
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


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the library in which imports can be planted."""
    root = tmp_path_factory.mktemp("house")
    shutil.copytree(LIB, root / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("edgelaw/theory/noise.py", "from edgelaw import kaczmarz", "Rooms import the rooms below them only"),
        ("edgelaw/data.py", "from edgelaw import spectrum", "Rooms import the rooms below them only"),
        ("edgelaw/cli/predict.py", "import edgelaw_ledger", "The library knows nothing of the audit"),
        (
            "edgelaw_ledger/checks/beyond.py",
            "from edgelaw_ledger.checks import regimes",
            "A check is nobody's helper",
        ),
        (
            "edgelaw/forecast/advice.py",
            "from edgelaw.theory._any_spectrum import common",
            "Only theory uses the engines of the exact curves",
        ),
    ],
)
def test_a_planted_wrong_import_turns_its_contract_red(tree, file, line, contract):
    path = tree / "lib" / file
    text = path.read_text()
    path.write_text(f"{text}\n{line}\n")
    try:
        status, output = lint_imports(tree)
    finally:
        path.write_text(text)
    assert status == 1
    assert re.search(rf"^{re.escape(contract)}( \(.*\))? BROKEN", output, flags=re.M), output


def private_imports(source, module):
    """The private names of other rooms that a module imports; the room `_common` is everybody's."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("edgelaw"):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names if alias.name.startswith("edgelaw")]
    public = re.compile(r"edgelaw(_ledger)?(\._common)?(\.[a-z][^.]*)*(\.[A-Za-z]\w*|\.__version__)?")
    return [name for name in names if room(name) != room(module) and not public.fullmatch(name)]


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_module_imports_a_private_name_of_another_room(path):
    assert private_imports(path.read_text(), dotted(path)) == []


def test_a_private_import_would_be_noticed():
    assert private_imports("from edgelaw.spectrum import _window", "edgelaw.cli.spectrum") == [
        "edgelaw.spectrum._window"
    ]
    assert private_imports("from edgelaw.theory._lambert import x", "edgelaw.theory.free") == []
    assert private_imports("from edgelaw.theory._lambert import x", "edgelaw.laws") != []
    assert private_imports("from edgelaw import _hidden", "edgelaw.laws") != []
    assert private_imports("from edgelaw._common import arguments", "edgelaw.laws") == []


# names and sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_names_can_be_searched_for(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    assert not {name for name in names if name.strip("_").lower() in UNSEARCHABLE}


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_a_function_fits_a_screen(path):
    for function in functions(path):
        body = function.body[1:] if ast.get_docstring(function) else function.body
        length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
        assert length <= LONGEST_FUNCTION, (function.name, length)


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
