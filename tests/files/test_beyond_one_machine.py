"""Surveys and sums of parts are pure, can be sent and merged in any order, and give the eigenvalues of the whole."""

import functools
import os
import pickle
import re
import subprocess
import sys
from functools import reduce
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import edgelaw
from edgelaw_app.files import design, gram, open_matrix

ROOT = Path(__file__).resolve().parents[2]
X = np.random.default_rng(0).normal(size=(5000, 24)) * np.arange(1, 25) ** -0.5 + 3
PARTS = np.split(X, [700, 701, 2600])
SEEN = reduce(gram.merge, map(gram.survey, PARTS))
OPTIONS = [
    dict(zip(("center", "normalize", "standardize"), one, strict=True))
    for one in product([True, False], repeat=3)
]


@pytest.mark.parametrize("options", OPTIONS)
def test_sums_of_parts_give_the_eigenvalues_of_the_design(options):
    expected = design(X, **options).gram_eigenvalues()
    values = gram.finish(reduce(gram.merge, [gram.partial(part, SEEN, **options) for part in PARTS]))
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13 * expected[-1])
    if options["standardize"] or options["center"]:
        with pytest.raises(ValueError, match="must be surveyed before its rows"):
            gram.partial(PARTS[0], **options)
    else:  # one reading of the rows is enough
        once = gram.finish(reduce(gram.merge, [gram.partial(part, **options) for part in PARTS]))
        np.testing.assert_allclose(once, expected, rtol=0, atol=1e-13 * expected[-1])


def test_merging_is_associative_commutative_and_changes_nothing():
    for parts in (
        [gram.partial(part, SEEN, normalize=False) for part in PARTS],
        [gram.survey(part) for part in PARTS],
    ):
        before = pickle.dumps(parts)
        a, b, c, d = parts
        ways = [
            gram.merge(gram.merge(a, b), gram.merge(c, d)),
            gram.merge(a, gram.merge(b, gram.merge(c, d))),
            gram.merge(gram.merge(gram.merge(d, c), b), a),
            gram.merge(*pickle.loads(pickle.dumps((gram.merge(c, a), gram.merge(b, d))))),
        ]
        assert pickle.dumps(parts) == before
        if isinstance(a, gram.Sums):
            results = [gram.finish(way) for way in ways]
        else:
            results = [np.concatenate([way.mean, way.deviations, [way.rows, way.duplicates]]) for way in ways]
        for one in results[1:]:
            np.testing.assert_allclose(one, results[0], rtol=0, atol=1e-12 * abs(results[0]).max())


def test_a_large_mean_costs_no_digits_of_sums_of_parts():
    small = np.random.default_rng(3).normal(size=(5000, 20))
    parts = np.split(small + 1e6, [500, 3000])
    seen = reduce(gram.merge, map(gram.survey, parts))
    values = gram.finish(reduce(gram.merge, [gram.partial(part, seen, normalize=False) for part in parts]))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(np.cov(small.T, bias=True)), rtol=1e-7)


def test_parts_may_come_in_blocks_and_rows_keep_their_numbers():
    seen = gram.survey(np.split(X, 10))
    blocks = gram.finish(gram.partial(iter(np.split(X, 10)), seen))
    np.testing.assert_allclose(blocks, gram.finish(gram.partial(X, seen)), rtol=1e-12)
    zero = X.copy()
    zero[4000] = 0
    with pytest.raises(ValueError, match="Row 4000 of X is zero"):
        gram.partial(zero[3000:], center=False, first=3000)


@pytest.mark.parametrize(
    ("rows", "words"),
    [([], "rows in every part"), (np.full((4, 3), np.nan), "X must be finite"), (np.ones(3), "2 dimension")],
)
def test_parts_that_are_none_are_refused(rows, words):
    for call in (gram.survey, functools.partial(gram.partial, center=False)):
        with pytest.raises(ValueError, match=words):
            call(rows)


def test_a_design_takes_what_was_found_elsewhere_and_the_forecast_sums_no_more(monkeypatch):
    sums = reduce(gram.merge, [gram.partial(part, SEEN) for part in PARTS])
    made = design(X)
    values = made.finish(SEEN, sums)
    monkeypatch.setattr(gram, "accumulate", None)
    assert made.duplicates == 0
    options = {"epochs": 3, "orders": "iid"}
    np.testing.assert_array_equal(edgelaw.predict(made, **options).eigenvalues, values)


# the page, as it is printed


@pytest.fixture
def page(tmp_path):
    """A folder with the page's files and some shards."""
    text = (ROOT / "reference" / "scaling.md").read_text()
    for name, code in re.findall(r"```\{code-block\} \w+\n:caption: (\S+)\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(code)
    (tmp_path / "shards").mkdir()
    for k, part in enumerate(np.split(X, [700, 2600])):
        np.save(tmp_path / "shards" / f"{k}.npy", part)
    return tmp_path


def run_as_printed(page, *words):
    """What a command prints in the folder of the page, as numbers."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    library = os.pathsep.join([str(ROOT / "lib"), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PATH": path, "PYTHONPATH": library}
    run = subprocess.run(words, cwd=page, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return np.array(run.stdout.split(), float)


@pytest.mark.parametrize(("language", "name"), [("python", "with_dask.py"), ("sh", "loop.sh")])
def test_the_page_prints_code_that_works(page, language, name):
    if language == "python":
        pytest.importorskip("distributed")
    program = sys.executable if language == "python" else "sh"
    values = run_as_printed(page, program, name)
    expected = design(open_matrix(page / "shards")).gram_eigenvalues()
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * expected[-1])
