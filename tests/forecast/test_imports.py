"""What importing a room loads: nothing heavy until it is needed."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "pyarrow",
    "dask",
    "distributed",
    "numba",
    "matplotlib",
    "rich",
    "jinja2",
)
ROOMS = (
    "edgelaw",
    "edgelaw.data",
    "edgelaw.kaczmarz",
    "edgelaw.theory",
    "edgelaw_app.files",
    "edgelaw_app.forecast",
)


@pytest.fixture(scope="module")
def loaded():
    """For each room the modules that it loads in a fresh interpreter, which imports one room after the other."""
    program = (
        "import importlib, json, sys\n"
        "loaded = {}\n"
        "for room in sys.argv[1:]:\n"
        "    importlib.import_module(room)\n"
        "    loaded[room] = sorted(sys.modules)\n"
        "print(json.dumps(loaded))\n"
    )
    plain = {key: value for key, value in os.environ.items() if not key.startswith("COV_CORE")}
    done = subprocess.run(
        [sys.executable, "-c", program, *ROOMS, "edgelaw_app.cli"],
        env=plain,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_loads_no_heavy_library_before_it_is_needed(loaded, room):
    assert [name for name in HEAVY if name in loaded[room]] == []
    assert room in loaded[room]


def test_the_command_line_loads_no_heavy_library_before_a_command_needs_it(loaded):
    assert [name for name in HEAVY if name != "rich" and name in loaded["edgelaw_app.cli"]] == []


def test_the_package_alone_loads_neither_numpy_nor_a_room(loaded):
    assert "numpy" not in loaded["edgelaw"]
    assert not [name for name in loaded["edgelaw"] if name.startswith("edgelaw.")]
