"""Text embeddings from a web service that speaks the OpenAI embeddings protocol, with patience."""

import json
import os
import time
import urllib.error
import urllib.request

import numpy as np

RETRIED = {408, 409, 429, 500, 502, 503, 504}


def key_from_environment(variable):
    """The API key, read from the environment so that it is never typed, shown or stored."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SystemExit(f"Set the environment variable {variable} to your API key, then run this again.")
    return key


def _wait(error, attempt, first_delay):
    """Seconds to wait before the next attempt: what the service asks for, else twice as long each time."""
    asked = error.headers.get("Retry-After") if isinstance(error, urllib.error.HTTPError) else None
    try:
        return min(float(asked), 120.0)
    except (TypeError, ValueError):
        return min(first_delay * 2**attempt, 60.0)


def embed(texts, url, model, key, attempts=7, first_delay=1.0, sleep=time.sleep, timeout=60):
    """Embed one batch of texts, trying again with growing pauses while the service is busy or out of reach.

    Parameters
    ----------
    texts : list of str
    url, model : str
        The endpoint and the model's name there.
    key : str
        Sent as a bearer token; it never appears in a message.
    attempts : int
        How often to try in all.
    first_delay : float
        Seconds before the second attempt; doubled for each further one (a Retry-After header takes
        precedence).
    sleep : callable
        Replaced in tests.
    timeout : float
        Seconds to wait for an answer.

    Returns
    -------
    ndarray of shape (len(texts), dimension), float32, in the order of `texts`
    """
    body = json.dumps({"model": model, "input": list(texts)}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    for attempt in range(attempts):
        request = urllib.request.Request(url, data=body, headers=headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return _rows(answer.read(), len(texts))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in RETRIED:
                raise SystemExit(
                    f"The embedding service refused the request: HTTP {error.code} {error.reason}."
                ) from None
            problem = error
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            problem = error
        if attempt + 1 < attempts:
            sleep(_wait(problem, attempt, first_delay))
    raise SystemExit(
        f"The embedding service did not answer after {attempts} attempts ({problem}); run this again."
    )


def _rows(answer, count):
    """The embeddings in an answer, put into the order asked for."""
    try:
        entries = json.loads(answer)["data"]
        rows = {entry["index"]: entry["embedding"] for entry in entries}
        return np.array([rows[i] for i in range(count)], dtype=np.float32)
    except (ValueError, KeyError, TypeError):
        raise SystemExit(
            f"The embedding service's answer does not hold {count} embeddings of one length."
        ) from None
