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
#: What stands before the owner and between the owner and the name wherever the address is written.
WAYS = (
    (r"git\+https://github\.com/", "/"),
    (r"mybinder\.org/v2/gh/", "/"),
    (r"colab\.research\.google\.com/github/", "/"),
    ("https://", r"\.github\.io/"),
)
TEXT = {".toml", ".yml", ".md", ".cff", ".ipynb", ".py", ".txt", ".bib"}
GENERAL = {"address.py", "test_address.py"}  # they talk of addresses in general


def patterns(name):
    """Every way in which the address of this project, called ``name``, is written."""
    form = r"(?P<before>{})(?P<owner>[\w.-]+)(?P<between>{})(?P<name>{})"
    ours = [form.format(before, between, r"[\w-]+") for before, between in WAYS]
    # another name on GitHub is another project
    ours.append(form.format(r"(?<!git\+)https://github\.com/", "/", rf"{re.escape(name)}\b"))
    return [re.compile(way) for way in ours]


def texts(root):
    """The text files under version control that name the repository, as pairs of path and text."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True)
    for path in (Path(root) / name for name in listing.stdout.split("\0") if name):
        if path.suffix in TEXT and path.name not in GENERAL and path.is_file():
            yield path, path.read_text()


def stated(root=ROOT):
    """The address in pyproject.toml."""
    return tomllib.loads((Path(root) / "pyproject.toml").read_text())["project"]["urls"]["Repository"]


def occurrences(root=ROOT):
    """Every place that names the repository, as (file, owner, name)."""
    ways = patterns(FORM.fullmatch(stated(root))["name"])
    return [
        (path.relative_to(root), match["owner"], match["name"])
        for path, text in texts(root)
        for way in ways
        for match in way.finditer(text)
    ]


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
        ours = (match["owner"], match["name"]) == (old["owner"], old["name"])
        return match["before"] + new["owner"] + match["between"] + new["name"] if ours else match[0]

    changed = 0
    for path, before in texts(root):
        text = before
        for way in patterns(old["name"]):
            text = way.sub(rewrite, text)
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
