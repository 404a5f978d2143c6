"""The house itself: pins, Binder, the API page, the wheel, and what must never be committed."""

import functools
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def names(path):
    """Package names and pins of a requirements file."""
    pairs = {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line and not line.startswith("-"):
            name, _, version = line.partition("==")
            pairs[re.sub(r"[-_.]+", "-", name.strip()).lower()] = version
    return pairs


@functools.cache
def tracked():
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name]


def test_every_pin_is_exact_and_covers_what_the_package_needs():
    pins = names(ROOT / "requirements.txt")
    assert all(pins.values())
    assert pins["torch"] == "2.13.0"
    assert pins["jupyter-book"].startswith("1.")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for requirement in [
        *project["dependencies"],
        *(line for name in extras for line in extras[name] if name != "all"),
    ]:
        assert re.split(r"[<>=!~ ]", requirement)[0] in pins
    asked = [re.split(r"[<>=!~ #]", line)[0] for line in (ROOT / "requirements.in").read_text().splitlines()]
    assert {name.lower() for name in asked if name} <= set(pins)


def test_readers_are_not_pinned_so_that_colab_keeps_its_own_numpy_and_torch():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"]:
        assert re.fullmatch(r"[a-z0-9]+>=[\d.]+", requirement)
        assert not requirement.startswith("torch")


def test_binder_is_lean_and_agrees_with_the_pins():
    binder, pins = names(ROOT / "binder" / "requirements.txt"), names(ROOT / "requirements.txt")
    for name in ("sphinx", "jupyter-book", "pytest", "nbval", "playwright", "ruff", "myst-nb"):
        assert name not in binder
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    shown = [
        line
        for extra in ("cli", "fast", "plots", "precise")
        for line in project["optional-dependencies"][extra]
    ]
    for requirement in [*project["dependencies"], *shown, "torch", "ipykernel"]:
        name = re.split(r"[<>=!~ ]", requirement)[0]
        assert binder[name] == pins[name]
    text = (ROOT / "binder" / "requirements.txt").read_text()
    assert "whl/cpu" in text  # torch without CUDA
    assert re.search(r"^--?e(ditable)? \.$|^\.$", text, flags=re.M)  # and the package itself
    assert (ROOT / "binder" / "runtime.txt").read_text().strip() == "python-3.11"
    assert not (ROOT / "environment.yml").exists()


def test_the_api_page_shows_every_public_module():
    page = (ROOT / "reference" / "api.md").read_text()
    shown = set(re.findall(r"automodule:: edgelaw\.([\w.]+)", page))
    library = ROOT / "lib" / "edgelaw"
    modules = {path.stem for path in library.iterdir() if path.name[0] != "_" and path.suffix in (".py", "")}
    theory = library / "theory"
    modules |= {f"theory.{path.stem}" for path in theory.glob("[!_]*") if path.suffix in (".py", "")}
    modules |= {f"theory.{path.parent.name}.{path.stem}" for path in theory.glob("[!_]*/[!_]*.py")}
    modules |= {
        "exact.finite_size",
        "exact.first_epoch",
        "exact.labels",
        "exact.labels.schedules",
        "exact.levy",
    }
    assert shown == modules
    application = set(re.findall(r"automodule:: edgelaw_app\.([\w.]+)", page))
    rooms = {"forecast", "files", "files.gram", "cli", "cli.cluster", "cli.report"}
    assert application == rooms | {"training.samplers", "training.probe", "training.transformer"}


def test_the_wheel_carries_the_library_and_the_data_and_nothing_else(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    inside = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    data = {
        name.removeprefix("data/") for name in tracked() if re.fullmatch(r"data/[^/]+\.(md|npz|txt)", name)
    }
    code = {name.removeprefix("lib/") for name in tracked() if re.match("lib/edgelaw(_app)?/", name)}
    expected = code | {f"edgelaw/_data/{name}" for name in data - {"README.md"}}
    assert {name for name in inside if ".dist-info/" not in name} == expected


def test_what_is_tracked_stays_small_and_holds_no_environment():
    assert not [name for name in tracked() if "site-packages" in name or name.startswith("_build/")]
    assert sum((ROOT / name).stat().st_size for name in tracked() if (ROOT / name).is_file()) < 40e6


def test_nothing_tracked_is_third_party_javascript_or_names_a_machine():
    for name in tracked():
        assert "mathjax/" not in name
        assert not name.endswith((".min.js", ".whl", ".tgz"))
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".yml", ".txt", ".in", ".cff", ".bib", ""}
            and path.is_file()
        ):
            if name == "tests/book/test_notebooks.py" or name == "tests/book/test_repository.py":
                continue
            match = re.search(r"(?<![\w.])/(work|root)/|\.\./shared", path.read_text(errors="replace"))
            assert not match, f"{name} names {match and match[0]}"


def test_make_help_teaches_every_target():
    shown = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.M)[1].split()
    taught = set(re.findall(r"^make (\S+) +\w", shown, flags=re.M))
    assert [name for name in targets if name not in taught] == []


def test_ci_runs_the_readmes_test_command_with_settings_that_the_gate_knows():
    script = (ROOT / ".ci" / "run").read_text()
    assert re.search(r"^make test$", script, flags=re.M)
    assert "make test" in (ROOT / "README.md").read_text()
    assert ".ci/run" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    code = "".join(
        path.read_text() for folder in ("tools", "tests") for path in (ROOT / folder).rglob("*.py")
    )
    settings = re.findall(r"(EDGELAW_\w+)=(\S+)", script)
    assert len(settings) == 5
    for name, value in settings:
        known = f'os.environ.get("{name}")'
        assert f'{known} == "{value}"' in code or (value == "1" and f"if {known} else" in code)


def test_one_version_stands_everywhere():
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), flags=re.M)[1]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"extra_footer: edgelaw {version}. " in (ROOT / "_config.yml").read_text()
    assert re.search(r"^## (\S+) ", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[1] == version
