"""Loops as machine code and as NumPy; machine code on disk: real processes, on folders and processors of all kinds."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from edgelaw._common.compiled import compiled, when_compiling
from edgelaw._common.extras import EXTRAS

KERNEL = """
from edgelaw._common.compiled import compiled, when_compiling

@compiled
def total(count):
    s = 0
    for i in range(count):
        s += i * i
    return s

seen = []
with when_compiling(seen.append):
    print(total(10), end=" ")
print("compiled" if seen else "loaded")
"""
CURVE = """
import numpy as np
from edgelaw._common.compiled import when_compiling
from edgelaw import exact
values, seen = np.random.default_rng(0).exponential(size=200), []
with when_compiling(seen.append):
    curve = exact.curve("single_shuffle", values, 20)
print("compiled" if seen else "loaded", curve.test.tobytes().hex(), curve.train.tobytes().hex())
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "code" / "kernel.py"
    path.parent.mkdir()
    path.write_text(KERNEL)
    return path


def start(*words, **environment):
    """A process of its own, with a variable of the environment for every keyword."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        env=clean | {name: str(value) for name, value in environment.items()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process):
    """What a process printed; it must have ended well and have complained of nothing."""
    printed, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints
    assert complaints == ""
    return printed.split()


# ------------------------------------------------------------------------------------------------------- processes


def test_processes_that_compile_at_once_leave_one_index_and_one_file_of_code_and_the_next_compiles_nothing(
    script, tmp_path
):
    cache = tmp_path / "cache"
    together = [start(script, NUMBA_CACHE_DIR=cache) for _ in range(2)]
    assert [output(process)[0] for process in together] == ["285", "285"]
    assert output(start(script, NUMBA_CACHE_DIR=cache)) == ["285", "loaded"]
    assert len([path for path in cache.rglob("*") if path.is_file()]) == 2


def test_code_that_was_loaded_gives_the_digits_of_code_that_was_compiled(tmp_path):
    (how, *first), (later, *second) = (output(start("-c", CURVE, NUMBA_CACHE_DIR=tmp_path)) for _ in range(2))
    assert (how, later) == ("compiled", "loaded")
    assert first == second


def test_where_the_package_cannot_be_written_the_user_s_cache_is_used(script, tmp_path):
    (script.parent / "__pycache__").write_text("a file, where a folder should be")
    home = {"XDG_CACHE_HOME": tmp_path / "mine", "NUMBA_CACHE_DIR": "/proc/nowhere"}
    assert output(start(script, **home)) == ["285", "compiled"]
    assert output(start(script, **home)) == ["285", "loaded"]


def test_where_nothing_can_be_written_every_process_compiles(script):
    (script.parent / "__pycache__").write_text("a file, where a folder should be")
    nowhere = {"XDG_CACHE_HOME": "/proc/nowhere", "HOME": "/proc/nowhere", "NUMBA_CACHE_DIR": "/proc/nowhere"}
    assert output(start(script, **nowhere)) == ["285", "compiled"]


def test_another_processor_compiles_its_own_code_and_leaves_the_other_s(script, tmp_path):
    here, other = (
        {"NUMBA_CACHE_DIR": tmp_path / "cache", **more} for more in ({}, {"NUMBA_CPU_NAME": "generic"})
    )
    assert output(start(script, **here)) == ["285", "compiled"]
    assert output(start(script, **other)) == ["285", "compiled"]
    both = [start(script, **environment) for environment in (here, other)]
    assert [output(process) for process in both] == [["285", "loaded"], ["285", "loaded"]]


def test_processes_that_compile_for_different_types_at_once_do_not_take_each_other_s_code(script, tmp_path):
    """Interleaved as they may be: both have written an index of their own before either writes its code."""
    script.write_text(
        textwrap.dedent("""
        import pathlib, sys, time, types
        import numpy as np
        from edgelaw._common.compiled import compiled

        @compiled
        def total(values):
            s = values[0]
            for x in values:
                s += x
            return s

        def wait_for_the_other(name):
            folder = pathlib.Path(sys.argv[2])
            (folder / f"{name}-{sys.argv[1]}").touch()
            while len(list(folder.glob(f"{name}-*"))) < 2:
                time.sleep(0.01)

        files = total.machine_code._cache._cache_file
        save = files._save_data
        if len(sys.argv) > 2:
            files._save_index = lambda index, write=files._save_index: (wait_for_the_other("index"), write(index))
            files._save_data = lambda name, data: (wait_for_the_other("data"), save(name, data))
        print(total(np.arange(5).astype(sys.argv[1])))
        """)
    )
    environment, meeting = {"NUMBA_CACHE_DIR": tmp_path / "cache"}, tmp_path / "meeting"
    meeting.mkdir()
    together = [start(script, kind, meeting, **environment) for kind in ("float64", "complex128")]
    assert [output(process) for process in together] == [["10.0"], ["(10+0j)"]]
    assert output(start(script, "float64", **environment)) == ["10.0"]
    assert output(start(script, "complex128", **environment)) == ["(10+0j)"]


# ------------------------------------------------------------------------------------------------------- without numba


@compiled(numpy=lambda values: values.sum())
def _total(values):
    s = 0.0
    for x in values:
        s += x
    return s


@compiled
def _reciprocal(x):
    return 1 / x


def test_the_twin_is_called_only_where_there_is_no_numba():
    values = np.arange(5.0)
    assert _total(values) == _total.twin(values) == _total.function(values) == 10
    assert _total.without_numba is _total.twin
    assert _reciprocal.twin is None
    assert _reciprocal(np.zeros(1)[0]) == _reciprocal.without_numba(np.zeros(1)[0]) == np.inf


WITHOUT = f"import sys\nsys.modules.update(dict.fromkeys({sorted(EXTRAS)!r}))\n"  # as if none were installed
CURVES = """
import sys
import numpy as np
from edgelaw import exact
values = np.random.default_rng(0).exponential(size=30)
for order in ("iid", "random_reshuffle", "single_shuffle", "flip_flop"):
    curve = exact.curve(order, values, 3)
    print(*curve.test, *curve.train)
assert (sys.modules.get("numba") is not None) == (len(sys.argv) > 1)
"""


def test_all_four_curves_are_computed_without_numba_and_without_all_extras():
    """Where they cannot be imported, and where numba must not be used."""
    blocked = start("-c", WITHOUT + CURVES)
    unused = start("-c", CURVES, EDGELAW_NUMBA=0)
    kept = {name: value for name, value in os.environ.items() if name == "NUMBA_CACHE_DIR"}
    expected = np.array(output(start("-c", CURVES, "numba", **kept)), float)
    for process in (blocked, unused):
        assert np.array(output(process), float) == pytest.approx(expected, rel=1e-7)


# ------------------------------------------------------------------------------------------------------- who watches


def test_who_does_not_watch_any_more_is_not_called():
    seen, later = [], []
    with when_compiling(later.append), pytest.raises(KeyError), when_compiling(seen.append):
        raise KeyError
    assert compiled(eval("lambda x: x - 1"))(3) == 2  # without a file, hence never on disk
    assert seen == later == []
    with when_compiling(seen.append):
        assert compiled(eval("lambda x: x - 2"))(3) == 1
    assert seen == [True, False]
