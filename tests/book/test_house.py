"""The house: paths that CONTRIBUTING.md names, and who may import whom."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIB = ROOT / "lib"
ROOMS = "Rooms of the library import the rooms below them only"
PACKAGES = "The ledger may import all, the application the library, the library neither"
CHECKS = "A check is nobody's helper"
PLANTED = [  # a file, a line to plant in it, the module that it names, and the contract that it breaks
    ("edgelaw/theory/gap.py", "from edgelaw import exact", "edgelaw.exact", ROOMS),
    ("edgelaw/data.py", "from edgelaw import spectrum", "edgelaw.spectrum", ROOMS),
    ("edgelaw_app/cli/predict.py", "import edgelaw_ledger", "edgelaw_ledger", PACKAGES),
    (
        "edgelaw_ledger/checks/beyond.py",
        "from edgelaw_ledger.checks import regimes",
        "edgelaw_ledger.checks.regimes",
        CHECKS,
    ),
]


def test_the_paths_that_contributing_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:lib|tests|data|benchmarks|tools)/[\w./-]*)`", text)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_planted_wrong_imports_turn_their_contracts_red(tmp_path):
    shutil.copytree(LIB, tmp_path / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, line, _, _ in PLANTED:
        with open(tmp_path / "lib" / file, "a") as module:
            module.write(f"\n{line}\n")
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "lib")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    for file, _, imported, contract in PLANTED:
        importer = file.removesuffix(".py").replace("/", ".")
        broken = re.search(rf"^{contract}\n-+\n(.*?)(?=^-+\n|\Z)", done.stdout, flags=re.S | re.M)
        assert broken, done.stdout
        assert re.search(rf"- +{re.escape(f'{importer} -> {imported}')} \(l\.\d+\)", broken[1]), broken[1]


def private_imports(source, module):
    """The private names of other rooms that a module imports; the room `_common` is everybody's."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            stem = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for name in (stem + alias.name for alias in node.names):
                parts = name.split(".")
                private = [
                    part for part in parts if part[0] == "_" and part not in ("_common", "__version__")
                ]
                if parts[0].startswith("edgelaw") and private and parts[:2] != module.split(".")[:2]:
                    yield f"{module}: {name}"


def test_no_module_imports_a_private_name_of_another_room():
    complaints = []
    for path in LIB.rglob("*.py"):
        module = ".".join(path.relative_to(LIB).with_suffix("").parts).removesuffix(".__init__")
        complaints += private_imports(path.read_text(), module)
    assert complaints == []
    assert list(private_imports("from edgelaw.spectrum import _window", "edgelaw_app.cli.spectrum"))
