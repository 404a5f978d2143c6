"""``import edgelaw`` is enough: its rooms, ``edgelaw.predict`` and ``edgelaw.probe`` are there when asked for."""

import importlib.util
import inspect
import subprocess
import sys

import pytest

import edgelaw
import edgelaw_app
from edgelaw import data


def answer(code):
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.parametrize(
    "how",
    [
        "import edgelaw; f = edgelaw.predict",
        "from edgelaw import predict as f",
        "import edgelaw, edgelaw_app.cli.predict; f = edgelaw.predict",
        "from edgelaw_app.forecast import predict as f",
    ],
)
def test_predict_can_be_called_however_it_is_imported(how):
    code = f"{how}; from edgelaw import data; X = data.gaussian(24, 24, rng=0)"
    asked = "f(X, epochs=2, orders=['iid']).advice.order"
    assert answer(f"{code}; print({asked})") == "iid"


def test_the_front_door_is_the_function_of_the_room():
    assert edgelaw.predict is edgelaw_app.forecast.predict
    assert edgelaw.probe is edgelaw_app.forecast.probe
    assert "epochs" in inspect.signature(edgelaw.predict).parameters
    with pytest.raises(ValueError, match="epochs"):
        edgelaw.predict(data.gaussian(24, 24, rng=0), epochs=0)


FORGET = (
    "[sys.modules.pop(m) for m in list(sys.modules) if m.partition('.')[0] in ('edgelaw', 'edgelaw_app')]"
)


def test_every_room_is_an_attribute_of_the_package():
    code = f"import sys\nfor name in {edgelaw._ROOMS!r}:\n    {FORGET}\n    import edgelaw\n"
    printed = answer(f"{code}    print(getattr(edgelaw, name).__name__)")
    assert printed.split() == [f"edgelaw.{name}" for name in edgelaw._ROOMS]


def test_the_rooms_are_listed_before_they_are_loaded():
    code = "import edgelaw, sys; print(*dir(edgelaw)); print(*(name for name in sys.modules if 'edgelaw.' in name))"
    listed, _, loaded = answer(code).partition("\n")
    assert {*edgelaw._ROOMS, "__version__", "predict", "probe"} <= set(listed.split())
    assert loaded == ""


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'predictions'"):
        edgelaw.predictions  # noqa: B018
    with pytest.raises(ImportError):
        from edgelaw import predictions  # noqa: F401


def test_every_module_has_one_name():
    for name in ("cluster", "embeddings", "predict", "probe", "report", "samplers", "transformer"):
        assert importlib.util.find_spec(f"edgelaw.{name}") is None, name
