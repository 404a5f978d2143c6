"""Machine code on disk: real processes, one after another and at once, on folders and processors of all kinds."""

import os
import subprocess
import sys

import pytest

from edgelaw._common.code_cache import CodeCache, CodeFiles
from edgelaw._common.compiled import compiled, when_compiling

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
from edgelaw.theory import iid
values, seen = np.random.default_rng(0).exponential(size=200), []
with when_compiling(seen.append):
    curve = exact.curve("iid", values, 20)
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


def test_processes_that_compile_at_once_leave_one_file_and_the_next_compiles_nothing(script, tmp_path):
    cache = tmp_path / "cache"
    together = [start(script, NUMBA_CACHE_DIR=cache) for _ in range(2)]
    assert [output(process)[0] for process in together] == ["285", "285"]
    assert output(start(script, NUMBA_CACHE_DIR=cache)) == ["285", "loaded"]
    assert len([path for path in cache.rglob("*") if path.is_file()]) == 1


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


# ----------------------------------------------------------------------------------------------------------- files


def files(folder, version="1", source="abc"):
    kept = CodeFiles(str(folder), "module.function-1.py311", source)
    kept._version = version
    return kept


def test_keys_do_not_share_a_file_and_what_is_kept_is_for_its_version_and_source_only(tmp_path):
    for key in ("one", "other"):
        files(tmp_path).save(key, key.upper())
    assert [files(tmp_path).load(key) for key in ("one", "other", "third")] == ["ONE", "OTHER", None]
    assert files(tmp_path, version="2").load("one") is None
    assert files(tmp_path, source="def").load("one") is None
    files(tmp_path, source="def").save("one", "NEW")
    assert files(tmp_path, source="def").load("one") == "NEW"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_file_is_as_good_as_none(tmp_path):
    files(tmp_path).save("key", [1, 2, 3])
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[:-5], whole[: len(whole) // 2], b"\x80\x04\x95 nonsense"):
        path.write_bytes(damaged)
        assert files(tmp_path).load("key") is None
    files(tmp_path).save("key", [4])
    assert files(tmp_path).load("key") == [4]


def test_a_folder_that_has_gone_keeps_nothing(tmp_path):
    files(tmp_path / "gone").save("key", 1)
    assert files(tmp_path / "gone").load("key") is None
    assert not (tmp_path / "gone").exists()


def _plus_one(x):
    return x + 1


def test_a_disk_that_fills_up_after_the_start_is_no_error(monkeypatch):
    def full(self):
        raise OSError(28, "No space left on device")

    kept = compiled(_plus_one)
    cache = kept.machine_code._cache
    assert isinstance(cache, CodeCache)
    monkeypatch.setattr(type(cache._impl.locator), "ensure_cache_path", full)
    monkeypatch.setattr(cache._cache_file, "load", lambda key: None)
    assert kept(2) == 3


def test_who_does_not_watch_any_more_is_not_called():
    seen, later = [], []
    with when_compiling(later.append), pytest.raises(KeyError), when_compiling(seen.append):
        raise KeyError
    assert compiled(eval("lambda x: x - 1"))(3) == 2  # without a file, hence never on disk
    assert seen == later == []
    with when_compiling(seen.append):
        assert compiled(eval("lambda x: x - 2"))(3) == 1
    assert seen == [True, False]
