"""The repository's address: show it, check that it is the same everywhere, or change it everywhere at once.

It stands in pyproject.toml under [project.urls]; everything else (book configuration, README, first cells of the
chapters, citation, Binder, Colab and Pages links) repeats it, and this tool keeps them equal.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORM = re.compile(r"https://github\.com/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)")


def patterns(name):
    """Every way in which the address of this project, called ``name``, is written."""
    owner, this, any_name = r"(?P<owner>[\w.-]+)", rf"(?P<name>{re.escape(name)})\b", r"(?P<name>[\w-]+)"
    return (
        re.compile(rf"https(?<!git\+https)://github\.com/{owner}/{this}"),
        re.compile(rf"git\+https://github\.com/{owner}/{any_name}"),
        re.compile(rf"mybinder\.org/v2/gh/{owner}/{any_name}"),
        re.compile(rf"colab\.research\.google\.com/github/{owner}/{any_name}"),
        re.compile(rf"https://{owner}\.github\.io/{any_name}"),
    )


def files(root):
    """Text files under version control."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        path = Path(root) / name
        if (
            path.suffix in {".toml", ".yml", ".md", ".cff", ".ipynb", ".py", ".txt", ".bib"}
            and path.is_file()
        ):
            yield path


def stated(root=ROOT):
    """The address in pyproject.toml."""
    return tomllib.loads((Path(root) / "pyproject.toml").read_text())["project"]["urls"]["Repository"]


def occurrences(root=ROOT):
    """Every place that names the repository, as (file, owner, name)."""
    places, spellings = [], patterns(FORM.fullmatch(stated(root))["name"])
    for path in files(root):
        if path.name in ("address.py", "test_address.py"):  # they talk of addresses in general
            continue
        text = path.read_text()
        for pattern in spellings:
            places += [
                (path.relative_to(root), match["owner"], match["name"]) for match in pattern.finditer(text)
            ]
    return places


def disagreements(root=ROOT):
    """Places whose address is not the stated one."""
    address = FORM.fullmatch(stated(root))
    return [place for place in occurrences(root) if place[1:] != (address["owner"], address["name"])]


def change(url, root=ROOT):
    """Write the new address everywhere; return how many files changed."""
    old, new = FORM.fullmatch(stated(root)), FORM.fullmatch(url.removesuffix("/").removesuffix(".git"))
    if not new:
        raise ValueError(f"The address must look like https://github.com/owner/name, not {url!r}.")

    def rewrite(match):
        if match.groupdict() != old.groupdict():
            return match[0]
        start, text = match.start(), match[0]
        for group in ("name", "owner"):  # from the right, so that positions stay true
            text = text[: match.start(group) - start] + new[group] + text[match.end(group) - start :]
        return text

    changed = 0
    for path in files(root):
        if path.name in ("address.py", "test_address.py"):
            continue
        text = before = path.read_text()
        for pattern in patterns(old["name"]):
            text = pattern.sub(rewrite, text)
        if text != before:
            path.write_text(text)
            changed += 1
    return changed


def main():
    """Show or change the address."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "url", nargs="?", help="the new address; without it, the address is shown and checked"
    )
    url = parser.parse_args().url
    if url:
        try:
            print(f"{change(url)} files now say {url}.")
        except ValueError as error:
            sys.exit(str(error))
    wrong = disagreements()
    for path, owner, name in wrong:
        print(f"{path} says {owner}/{name}")
    print(f"{stated()} in {len({place[0] for place in occurrences()})} files")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
