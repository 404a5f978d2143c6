"""What a closed form brings with it: its module, the laws and checked arguments, and no engine."""

import subprocess
import sys

import pytest

from edgelaw.orders import ORDERS

NAMES = (*ORDERS, "gradient_descent", "free", "gap", "regimes")
PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    for module in [m for m in sys.modules if m.partition(".")[0] == "edgelaw"]:
        del sys.modules[module]
    importlib.import_module(f"edgelaw.theory.{name}")
    print(*sorted(m for m in sys.modules if m.partition(".")[0] == "edgelaw"))
"""


@pytest.fixture(scope="module")
def loaded():
    """The modules of the package that each closed form loads where none of them was loaded before."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *NAMES], capture_output=True, text=True, check=True)
    return dict(zip(NAMES, map(str.split, done.stdout.splitlines()), strict=True))


def test_the_closed_forms_of_iid_load_these_modules_and_no_others(loaded):
    assert loaded["iid"] == [
        "edgelaw",
        "edgelaw._common",
        "edgelaw._common.arguments",
        "edgelaw._common.numerics",
        "edgelaw._common.types",
        "edgelaw.laws",
        "edgelaw.orders",
        "edgelaw.theory",
        "edgelaw.theory._epochs",
        "edgelaw.theory.iid",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_form_loads_at_most_twelve_modules_and_no_engine(loaded, name):
    modules = loaded[name]
    assert not any(module.startswith("edgelaw.exact") for module in modules)
    assert len(modules) <= 12
