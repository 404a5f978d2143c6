"""A small installation: numpy, scipy and threadpoolctl alone."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from edgelaw._common import extras

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = f"import sys\nsys.modules.update(dict.fromkeys({sorted(extras.EXTRAS)!r}))\n"  # as if not installed


def python(*words, program=None, **variables):
    return subprocess.run(
        [sys.executable, *(["-c", program] if program else []), *words],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )


def test_every_optional_package_has_the_extra_that_pyproject_gives_it():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split("[<>=]", line)[0] for line in project["dependencies"]}
    brought = {
        extra: {re.split("[<>=]", line)[0] for line in lines}
        for extra, lines in project["optional-dependencies"].items()
        if extra != "all"
    }
    assert needed == {"numpy", "scipy", "threadpoolctl"}
    assert set(extras.EXTRAS) == set().union(*brought.values())
    assert all(package in brought[extra] for package, extra in extras.EXTRAS.items())
    (everything,) = project["optional-dependencies"]["all"]
    assert set(everything[len("edgelaw[") : -1].split(",")) == set(brought)


def test_closed_forms_need_none_of_them():
    program = (
        "from edgelaw.theory import BY_ORDER, gap, gradient_descent, regimes\n"
        "for module in BY_ORDER.values():\n"
        "    print(module.test_loss(3, 0.7, 1.5) > module.train_loss(3, 0.7, 1.5) > 0)\n"
    )
    done = python(program=WITHOUT + program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * 4


def test_a_forecast_and_a_simulation_need_none_of_them():
    program = (
        "import edgelaw\n"
        "rows = edgelaw.data.gaussian(40, 40, rng=0)\n"
        "print(edgelaw.predict(rows, epochs=5).advice.order)\n"
        "print(len(edgelaw.kaczmarz.simulate(rows, 'iid', 3, probes=1).test))\n"
    )
    done = python(program=WITHOUT + program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "4"


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("import edgelaw.plots", "matplotlib is not installed: pip install 'edgelaw[plots]'."),
        (
            "from edgelaw_app.cli import main; sys.exit(main(['demo']))",
            "edgelaw: rich is not installed: pip install 'edgelaw[cli]'.",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_extra(program, sentence):
    done = python(program=WITHOUT + program)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].removeprefix("ModuleNotFoundError: ") == sentence


def test_errors_of_other_packages_pass():
    with pytest.raises(ModuleNotFoundError, match="nowhere"), extras.named():
        import nowhere  # noqa: F401
