import shutil
import subprocess

import pytest
import yaml

import address


@pytest.fixture(scope="module")
def copied(root, tmp_path_factory):
    """A copy of everything under version control (or about to be), as a repository of its own."""
    folder = tmp_path_factory.mktemp("copied")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=root, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if not (root / name).is_file() or name.endswith(".npz"):
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, folder / name)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.fixture
def scratch(copied):
    """The copy, which is as it was again after the test."""
    yield copied
    subprocess.run(["git", "checkout", "-q", "--", "."], cwd=copied, check=True)


def test_the_address_is_the_same_everywhere(root):
    stated = address.stated()
    assert address.disagreements() == []
    assert yaml.safe_load((root / "_config.yml").read_text())["repository"]["url"] == stated
    assert yaml.safe_load((root / "CITATION.cff").read_text())["repository-code"] == stated
    places = {str(place[0]) for place in address.occurrences()}
    assert {"README.md", "_config.yml", "CITATION.cff", "pyproject.toml", "reference/api.md"} <= places
    assert {f"chapters/{path.name}" for path in (root / "chapters").glob("*.ipynb")} <= places


def test_one_command_changes_it_everywhere(scratch):
    before = {str(place[0]) for place in address.occurrences(scratch)}
    assert address.change("https://github.com/someone/elsewhere", scratch) == len(before)
    assert address.stated(scratch) == "https://github.com/someone/elsewhere"
    assert address.disagreements(scratch) == []
    assert {str(place[0]) for place in address.occurrences(scratch)} == before
    left = subprocess.run(
        ["grep", "-rlE", r"github\.com/edgelaw|gh/edgelaw|edgelaw\.github"], cwd=scratch, capture_output=True
    )
    assert set(left.stdout.decode().split()) <= {"tools/address.py", "tests/book/test_address.py"}


def test_a_place_that_disagrees_is_found(scratch):
    readme = scratch / "README.md"
    readme.write_text(readme.read_text().replace("github.com/edgelaw/", "github.com/elsewhere/", 1))
    assert [str(place[0]) for place in address.disagreements(scratch)] == ["README.md"]


def test_an_address_of_the_wrong_form_is_refused_and_nothing_changes(scratch):
    with pytest.raises(ValueError, match="must look like"):
        address.change("example.org/x", scratch)
    assert address.stated(scratch) == address.stated()
