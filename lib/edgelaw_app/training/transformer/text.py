"""A text as numbers, and the stretches of it that a model reads."""

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike, Integers, Rng


def encode(text: str, alphabet: str | None = None) -> tuple[Integers, str]:
    """Characters as integers: a character's number is its place in the alphabet.

    Parameters
    ----------
    text : str
    alphabet : str, optional
        By default the characters of the text, sorted.

    Returns
    -------
    tokens : ndarray of int64
    alphabet : str

    Examples
    --------
    >>> tokens, alphabet = encode("abba")
    >>> tokens.tolist(), alphabet
    ([0, 1, 1, 0], 'ab')
    """
    if not isinstance(text, str) or not text:
        raise ValueError("text must be a non-empty string.")
    alphabet = "".join(sorted(set(text))) if alphabet is None else alphabet
    places = {character: place for place, character in enumerate(alphabet)}
    missing = sorted(set(text) - set(places))
    if missing:
        raise ValueError(f"text has the character {missing[0]!r}, which is not in the alphabet.")
    return np.array([places[character] for character in text], dtype=np.int64), alphabet


def contexts(
    tokens: ArrayLike, length: int, count: int | None = None, rng: Rng | None = None
) -> tuple[Integers, Integers]:
    """Stretches of a text with what follows each of their characters.

    Parameters
    ----------
    tokens : array of int
    length : int
        Characters per stretch.
    count : int, optional
        How many, at places drawn from ``rng``; by default the text cut into consecutive stretches, a rest left out.
    rng : Generator or int
        Needed with ``count`` only.

    Returns
    -------
    inputs, targets : ndarray of shape (count, length)
        ``targets`` is ``inputs`` one character later.

    Examples
    --------
    >>> inputs, targets = contexts(np.arange(6), 2)
    >>> inputs.tolist(), targets.tolist()
    ([[0, 1], [2, 3]], [[1, 2], [3, 4]])
    """
    text = arguments.counts(tokens, "tokens")
    length = arguments.whole(length, "length", 1)
    if text.ndim != 1 or len(text) <= length:
        raise ValueError(f"tokens must be a list of more than length = {length} integers.")
    if count is None:
        starts = np.arange(0, len(text) - length, length)
    else:
        count = arguments.whole(count, "count", 1)
        starts = arguments.generator(rng).integers(0, len(text) - length, size=count)
    window = starts[:, None] + np.arange(length)
    return text[window], text[window + 1]
