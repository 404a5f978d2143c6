"""What a closed form brings with it: its module, the laws and checked arguments, and no engine."""

import subprocess
import sys

import pytest

from edgelaw.orders import ORDERS

LISTED = "import sys, {name}; print(*sorted(m for m in sys.modules if m.split('.')[0] == 'edgelaw'))"


def loaded(name):
    """The modules of the package that an import loads in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", LISTED.format(name=name)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_the_closed_forms_of_iid_load_these_modules_and_no_others():
    assert loaded("edgelaw.theory.iid") == [
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


@pytest.mark.parametrize("name", [*ORDERS, "gradient_descent", "free", "gap", "regimes"])
def test_a_closed_form_loads_at_most_twelve_modules_and_no_engine(name):
    modules = loaded(f"edgelaw.theory.{name}")
    assert not any(module.startswith("edgelaw.exact") for module in modules)
    assert len(modules) <= 12
