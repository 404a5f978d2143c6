"""What a release says: the section of CHANGELOG.md that belongs to a tag.

python tools/release.py v0.3.0     print it; fail unless the tag is the package's version and the section is dated
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def notes(tag, changelog, version):
    """The changelog's section of a version, without its heading."""
    if tag != f"v{version}":
        raise ValueError(f"The tag {tag} is not v{version}, the version in pyproject.toml.")
    sections = re.split(r"^## (.*)\n", changelog, flags=re.M)[1:]
    for heading, text in zip(sections[::2], sections[1::2], strict=True):
        if heading.split()[0] == version:
            if not re.fullmatch(r"\S+ \(\d{4}-\d\d-\d\d\)", heading):
                raise ValueError(f"CHANGELOG.md says {heading!r}: a release has a date, as in (2026-11-17).")
            return text.strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no section on {version}.")


if __name__ == "__main__":
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    try:
        print(notes((sys.argv[1:] or ["none"])[0], (ROOT / "CHANGELOG.md").read_text(), stated), end="")
    except ValueError as error:
        sys.exit(str(error))
