"""``python -m edgelaw_ledger``: what it shows, how it exits, and that it never shows a traceback."""

import subprocess
import sys

import pytest

import edgelaw_ledger as claims
from edgelaw_ledger import verify

SOME = ["C2", "C5"]


def shown(capsys, *words):
    """Exit status, standard output, standard error."""
    try:
        status = verify.main(list(words))
    except SystemExit as leaving:  # --help leaves by itself
        status = leaving.code
    streams = capsys.readouterr()
    return status, streams.out, streams.err


@pytest.fixture
def tampered(monkeypatch):
    """The ledger with one verdict changed by hand: C2, which holds, recorded to fail."""
    ledger = claims.load()
    ledger["C2"] = claims.Claim(**vars(ledger["C2"]) | {"verdict": "fails", "correction": "none"})
    monkeypatch.setattr(claims, "load", lambda: ledger)


def test_claims_that_are_confirmed_give_a_table_and_status_0(capsys):
    status, out, err = shown(capsys, "c5", "C2", "-j", "1")
    assert status == 0
    assert err == ""
    head, *rows = out.splitlines()
    assert head.split() == ["claim", "verdict", "measured", "claimed"]
    assert rows[0].startswith("C2")  # in the order of the paper
    assert "2 claims: 2 holds." in out
    assert "Every check agrees with the ledger." in out


def test_a_group_is_the_claims_of_its_letter(capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(claims, "run", lambda chosen, jobs, done: asked.extend(chosen) or [])
    status, out, _ = shown(capsys, "--group", "c", "--group", "B", "D1")
    assert status == 0
    names = [claim.id for claim in asked]
    assert names == [name for name in claims.IDS if name[0] in "BC" or name == "D1"]
    assert "No claim fits" in out


def test_failing_shows_only_what_does_not_hold_with_its_correction(capsys):
    status, out, _ = shown(capsys, "--failing", "C2", "C17", "-j", "1")
    assert status == 0
    assert "what is true" in out
    assert "C2 " not in out
    assert "C17" in out
    assert "1 claim: 1 fails." in out


@pytest.mark.usefixtures("tampered")
def test_a_verdict_changed_by_hand_is_found_out_with_status_1(capsys):
    status, out, _ = shown(capsys, *SOME, "-j", "1")
    assert status == 1
    assert "recorded: fails" in out
    assert "Not confirmed: C2." in out


def test_a_check_that_breaks_down_is_status_1_and_one_line(capsys, monkeypatch):
    def broken(claim):
        raise FloatingPointError("[nothing] converged")  # brackets must not be taken for markup

    monkeypatch.setattr(claims.ledger, "check", broken)
    status, out, err = shown(capsys, "C2")
    assert status == 1
    assert "FloatingPointError: [nothing]" in out  # a narrow table may put the last word on a line of its own
    assert "converged" in out
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Z9"], "There is no claim Z9"),
        (["C2", "F20"], "There is no claim F20"),
        (["--group", "Q"], "There is no group Q"),
        (["-j", "0"], "must be a positive integer"),
        (["-j", "two"], "must be a positive integer"),
        (["--nonsense"], "nrecognized arguments: --nonsense"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_sentence(capsys, words, sentence):
    status, out, err = shown(capsys, *words)
    assert status == 2
    assert out == ""
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_a_ledger_that_cannot_be_read_is_told_in_one_sentence(capsys, monkeypatch):
    def unreadable():
        raise claims.LedgerError("The ledger cannot be read: no such file.")

    monkeypatch.setattr(claims, "load", unreadable)
    assert shown(capsys) == (2, "", "edgelaw: The ledger cannot be read: no such file.\n")


def test_ctrl_c_is_not_a_traceback(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(claims, "run", interrupted)
    assert shown(capsys, "C2") == (130, "", "edgelaw: stopped.\n")


def test_help_teaches_by_example_in_eighty_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = shown(capsys, "--help")
    assert status == 0
    assert "examples, in a clone" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_examples_of_the_help_are_understood():
    start = "  python -m edgelaw_ledger"
    lines = [line for line in verify.EXAMPLES.splitlines() if line.startswith(start)]
    assert len(lines) == 7
    for line in lines:
        assert verify.parser().parse_args(line[len(start) : 41].split()).run is verify.run


def test_it_runs_as_a_module_of_its_own():
    command = [sys.executable, "-m", "edgelaw_ledger", *SOME, "-j", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 claims: 2 holds." in done.stdout


# what the book says itself ---------------------------------------------------------------------------------


@pytest.fixture
def own(monkeypatch):
    """A sentence whose check holds and one whose check does not."""
    import sys
    import types

    module = types.ModuleType("edgelaw_ledger.own.pretended")
    module.good = lambda: claims.number(1.0, 1.0, 1e-3)
    module.bad = lambda: claims.number(2.0, 1.0, 1e-3)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = {"status": "measured", "text": "It is one.", "place": "intro"}
    sentences = {
        name: claims.Sentence(id=name, check=f"edgelaw_ledger.own.pretended:{check}", **entry)
        for name, check in (("03-1", "good"), ("intro-1", "bad"))
    }
    monkeypatch.setattr(claims, "load_sentences", lambda: sentences)
    return sentences


@pytest.mark.usefixtures("own")
def test_a_sentence_of_the_book_is_checked_by_its_id(capsys):
    status, out, _ = shown(capsys, "03-1", "C2", "-j", "1")
    assert status == 0
    assert "1 claim: 1 holds." in out
    assert "1 result of the book." in out
    status, out, _ = shown(capsys, "Intro-1")
    assert status == 1
    assert "Not confirmed: intro-1." in out
    status, _, err = shown(capsys, "03-7")
    assert status == 2
    assert "There is no claim 03-7" in err


def test_all_that_the_book_says_itself_can_be_asked_for_and_is_part_of_all(capsys, monkeypatch, own):
    asked = []
    monkeypatch.setattr(claims, "run", lambda chosen, jobs, done: asked.append([c.id for c in chosen]) or [])
    shown(capsys, "--own")
    shown(capsys)
    shown(capsys, "--failing", "03-1")
    additions = [entry.id for entry in claims.additions()]
    assert asked == [[*additions, *own], [*claims.IDS, *additions, *own], []]
