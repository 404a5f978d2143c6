"""The text and the training runs, built in small."""

import io
import tarfile

import card
import fetch
import moby_dick
import numpy as np
import pytest
import transformer_runs

from edgelaw import shipped
from edgelaw_app.training import transformer


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A stand-in for the package: thirteen chapters of a few words."""
    path = tmp_path / "book.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for number in range(1, 14):
            content = f"\nCHAPTER {number}.\n\nCall me “{number}”.\n\n".encode()
            info = tarfile.TarInfo(f"package/data/chapter_{number}.txt")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    monkeypatch.setattr(moby_dick, "fetch", lambda package, cache: path)
    return tmp_path


def test_the_text_is_the_first_ten_chapters_in_their_order(package, capsys):
    moby_dick.main(["--out", str(package / "text.txt")])
    text = (package / "text.txt").read_text(encoding="utf-8")
    assert text == "".join(f"CHAPTER {n}.\n\nCall me “{n}”.\n\n" for n in range(1, 11))
    facts, _ = card.split((package / "text.md").read_text(encoding="utf-8"))
    assert facts["characters"] == len(text)
    assert facts["input"][0]["sha256"] == fetch.MOBY_DICK.sha256
    assert "CC0" in facts["licence"]
    assert "Wrote text.txt" in capsys.readouterr().out


def test_the_shipped_text_comes_from_the_pinned_package():
    facts = shipped.card(shipped.folder() / "moby_dick.md")
    assert facts["input"][0]["sha256"] == fetch.MOBY_DICK.sha256
    assert facts["characters"] == len(transformer.shipped_text())
    assert facts["alphabet"] == len(set(transformer.shipped_text()))


def test_all_runs_in_small_have_the_shipped_keys_and_are_computed_once(tmp_path, monkeypatch, capsys):
    small = {
        "BODY": {"width": 16, "depth": 1, "steps": 4, "batch": 2},
        "SWEEP": ((16, 1),),
        "SEEDS": 2,
        "SWEEP_STEPS": 4,
        "CHECKPOINTS": (0, 4),
        "BODY_CHECKPOINTS": (0, 4),
        "SAMPLE": 8,
        "STREAMS": 1,
        "UNFREEZE_STEPS": 4,
        "UNFREEZE_CHECKPOINTS": (0, 4),
    }
    for name, value in small.items():
        monkeypatch.setattr(transformer_runs, name, value)
    shipped_body = transformer.shipped_model()
    arguments = ["--cache", str(tmp_path / "cache"), "--out", str(tmp_path)]
    transformer_runs.main(["all", *arguments])
    with np.load(tmp_path / "transformer_runs.npz", allow_pickle=False) as arrays:
        first = dict(arrays)
    assert first["width_16_depth_1"].shape == (2, 2, 16)
    assert first["width_16_depth_1_loss"].shape == (2,)
    assert first["frozen_spectra"].shape == (1, 2, shipped_body.width)
    np.testing.assert_array_equal(first["frozen_spectra"][:, 0], first["frozen_spectra"][:, 1])
    assert not np.array_equal(first["unfrozen_spectra"][:, 0], first["unfrozen_spectra"][:, 1])
    assert (first["frozen_mse"][:, 1] < first["frozen_mse"][:, 0]).all()
    shipped_keys = {name for name in transformer.shipped_runs() if not name.startswith("width")}
    assert shipped_keys == {name for name in first if not name.startswith("width")}
    facts, _ = card.split((tmp_path / "transformer_runs.md").read_text(encoding="utf-8"))
    assert facts["bytes"] == (tmp_path / "transformer_runs.npz").stat().st_size
    with np.load(tmp_path / "transformer_body.npz", allow_pickle=False) as body:
        assert body["character.weight"].dtype == np.int8
        assert "head.weight" not in body
        assert body["spectra"].shape == (2, 16)
    for name in ("body", "sweep", "unfreeze"):
        # a second run reads what the first one kept
        monkeypatch.setattr(transformer_runs, name, lambda *arguments: pytest.fail("computed again"))
    transformer_runs.main(["all", *arguments])
    with np.load(tmp_path / "transformer_runs.npz", allow_pickle=False) as arrays:
        assert all(np.array_equal(arrays[name], first[name]) for name in first)
    assert capsys.readouterr().out.count("Wrote transformer_runs.npz") == 2


def test_eight_bits_are_off_by_at_most_half_a_level():
    weight = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)
    weight[2] = 0
    whole, scale = transformer_runs.pack(weight)
    assert whole.dtype == np.int8
    assert scale.shape == (6, 1)
    error = np.abs(whole * scale - weight).max(axis=1)
    assert (error <= 0.5001 * scale[:, 0] + 1e-9).all()
    assert error.max() > 0
