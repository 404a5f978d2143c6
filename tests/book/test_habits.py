"""Releases, pins, hooks and forms: what helps those who work on the repository says what is so."""

import re
import tomllib

import pytest
import yaml

import environment
import release
import stages

CHANGELOG = """# Changelog

## 1.2.0 (2026-01-02)

New.

### More

- a thing

## 1.1.0 (unreleased)

Old.
"""


def test_the_notes_of_a_release_are_the_changelogs_section():
    assert release.notes("v1.2.0", CHANGELOG, "1.2.0") == "New.\n\n### More\n\n- a thing\n"


@pytest.mark.parametrize(
    ("tag", "version", "complaint"),
    [
        ("v1.2.1", "1.2.0", "not v1.2.0, the version in pyproject"),
        ("1.2.0", "1.2.0", "not v1.2.0"),
        ("v1.1.0", "1.1.0", "a release has a date"),
        ("v2.0.0", "2.0.0", "no section on 2.0.0"),
    ],
)
def test_a_tag_that_is_not_ready_is_refused(tag, version, complaint):
    with pytest.raises(ValueError, match=complaint):
        release.notes(tag, CHANGELOG, version)


def test_the_changelog_has_the_sections_that_releases_ask_for(root):
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    text = re.sub(r"\(unreleased\)", "(2030-01-01)", (root / "CHANGELOG.md").read_text())
    assert len(release.notes(f"v{version}", text, version)) > 500


def test_a_release_checks_before_it_builds_and_builds_before_it_publishes(root):
    workflow = yaml.safe_load((root / ".github" / "workflows" / "release.yml").read_text())
    assert workflow[True]["push"]["tags"] == ["v[0-9]+.[0-9]+.[0-9]+"]  # YAML reads "on" as true
    assert workflow["permissions"] == {"contents": "read"}
    commands = "\n".join(step.get("run", "") for step in workflow["jobs"]["release"]["steps"])
    order = ["tools/release.py", ".ci/run", "hatchling build", "twine check --strict", "gh release create"]
    places = [commands.index(command) for command in order]
    assert places == sorted(places)


def test_the_hooks_run_what_make_test_runs_with_the_pinned_versions(root):
    hooks = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]  # nothing is fetched
    commands = {hook["id"]: hook["entry"] for hook in hooks[0]["hooks"]}
    assert all(command.startswith(".venv/bin/") for command in commands.values())
    for name, stage in {
        "ruff": "lint",
        "ruff-format": "format",
        "imports": "imports",
        "types": "types",
    }.items():
        tool = " ".join(stages.STAGES[stage][1:3] if "-m" in stages.STAGES[stage] else ["lint-imports"])
        assert tool in commands[name]


def test_the_forms_of_issues_ask_for_what_is_needed(root):
    forms = sorted((root / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    assert [form.stem for form in forms] == ["bug", "idea", "wrong_number"]
    for form in map(yaml.safe_load, (path.read_text() for path in forms)):
        assert {"name", "description", "body"} <= form.keys()
        assert any(part.get("validations", {}).get("required") for part in form["body"])
        assert all(part["attributes"]["label"] for part in form["body"])


def test_refreshed_pins_reach_binders_file_and_nothing_else_of_it_changes(root):
    text = (root / "binder" / "requirements.txt").read_text()
    assert environment.pinned(text, environment.pins()) == text
    versions = {**environment.pins(), "numpy": "9.9.9"}
    changed = environment.pinned(text, versions)
    assert changed == re.sub(r"numpy==\S+", "numpy==9.9.9", text) != text
    with pytest.raises(KeyError, match="numpy"):
        environment.pinned(text, {})
