"""``import edgelaw`` is enough: its rooms are there when asked for, and ``edgelaw.predict`` is function and module."""

import inspect
import subprocess
import sys

import pytest

import edgelaw
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
        "import edgelaw.predict; f = edgelaw.predict",
        "import edgelaw.predict; f = edgelaw.predict.predict",
        "from edgelaw.predict import predict as f",
        "import edgelaw.predict as f",
        "import edgelaw; edgelaw.predict; from edgelaw.predict import predict as f",
    ],
)
def test_predict_can_be_called_however_it_is_imported(how):
    code = f"{how}; from edgelaw import data; X = data.gaussian(24, 24, rng=0)"
    asked = "f(X, epochs=2, orders=['iid'], search=False).advice.order"
    assert answer(f"{code}; print({asked})") == "iid"


def test_the_called_module_is_the_function():
    X = data.gaussian(24, 24, rng=0)
    options = {"epochs": 2, "orders": ["iid"], "search": False}
    called, function = edgelaw.predict(X, **options), edgelaw.predict.predict(X, **options)
    assert isinstance(called, edgelaw.predict.Prediction)
    assert called.to_dict() == function.to_dict()
    assert inspect.ismodule(edgelaw.predict)
    assert inspect.signature(edgelaw.predict) == inspect.signature(edgelaw.predict.predict)
    assert "epochs" in inspect.signature(edgelaw.predict).parameters
    with pytest.raises(ValueError, match="epochs"):
        edgelaw.predict(X, epochs=0)


def test_every_room_is_an_attribute_of_the_package():
    for name in edgelaw._ROOMS:
        assert answer(f"import edgelaw; print(edgelaw.{name}.__name__)") == f"edgelaw.{name}"


def test_the_rooms_are_listed_before_they_are_loaded():
    code = "import edgelaw, sys; print(*dir(edgelaw)); print(*(name for name in sys.modules if 'edgelaw.' in name))"
    listed, _, loaded = answer(code).partition("\n")
    assert {*edgelaw._ROOMS, "__version__"} <= set(listed.split())
    assert loaded == ""


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'predictions'"):
        edgelaw.predictions  # noqa: B018
    with pytest.raises(ImportError):
        from edgelaw import predictions  # noqa: F401
