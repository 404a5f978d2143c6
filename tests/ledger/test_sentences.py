"""The book's own sentences: every rule of their ledger bites, and a false quantifier turns its check red.

The checks themselves are run in ``test_verdicts``, with numbers moved by 2 % too.
"""

import inspect

import numpy as np
import pytest
from mutants import survivors

import edgelaw_ledger as claims
from edgelaw import data

SENTENCES = claims.load_sentences()
GOOD = {
    "id": "03-1",
    "status": "measured",
    "check": "edgelaw_ledger.own.pretended:all_cells",
}
PRINTED = {"text": "All is well.", "place": "intro"}
OTHER = GOOD | {"id": "intro-2"}
ALL = "All is well. <!-- result 03-1 -->"
INTRO = f"# Book\n\nHello. {ALL} So is\nthis. <!-- result intro-2 --> Read on.\n"


def cells(failing=0):
    """Ratios of two losses in 29 cells, of which some are above 1."""
    return np.concatenate([np.linspace(0.5, 0.99, 29 - failing), np.full(failing, 1.47)])


@pytest.fixture
def pretended(monkeypatch):
    """A module with two checks: of a sentence about all 29 cells, and of one with a number."""
    import sys
    import types

    module = types.ModuleType("edgelaw_ledger.own.pretended")
    module.ratios = cells()

    def all_cells(*, cells=29):
        """The ratio of two losses in each of 29 cells."""
        ahead = int((module.ratios < 1).sum())
        return claims.Evidence(
            "holds" if ahead == cells == module.ratios.size else "fails",
            measured=f"ahead in {ahead} of {module.ratios.size} cells, worst ratio {module.ratios.max():.2f}",
            claimed=f"ahead in all {cells} cells",
            tolerance="none",
        )

    def smallest(*, ratio=0.5):
        """The smallest ratio of two losses."""
        return claims.number(float(module.ratios.min()), ratio, 1e-3)

    module.all_cells, module.smallest = all_cells, smallest
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def toml(value):
    """A text, or rows of texts, as TOML."""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + " }"
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else value


def written(folder, *entries, kind="sentence", **files):
    """A book's ledger with these blocks, and a first page that marks two results, or other pages."""
    for name, text in (files or {"intro.md": INTRO}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "data").mkdir(exist_ok=True)
    path = folder / "data" / "additions.toml"
    lines = [f"[[{kind}]]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in entry.items()) for entry in entries]
    path.write_text("\n".join(lines))
    return path


# what a sentence's check can see ---------------------------------------------------------------------------


def test_a_false_quantifier_turns_its_check_red(pretended):
    sentence = claims.Sentence(**GOOD, **PRINTED)
    assert claims.examine(sentence).confirmed
    pretended.ratios = cells(failing=1)
    outcome = claims.examine(sentence)
    assert not outcome.confirmed
    assert outcome.evidence.verdict == "fails"
    assert "28 of 29 cells, worst ratio 1.47" in outcome.evidence.measured


def test_a_number_that_is_moved_by_two_per_cent_turns_its_check_red(pretended, monkeypatch):
    monkeypatch.setenv("EDGELAW_MUTANTS", "both")
    sentence = claims.Sentence(**GOOD | PRINTED | {"check": "edgelaw_ledger.own.pretended:smallest"})
    assert sentence.stated() == {"ratio": 0.5}
    assert claims.examine(sentence).confirmed
    assert survivors(sentence) == []
    pretended.smallest = lambda *, ratio=0.5: claims.number(0.5, 0.5, 1e-3)
    assert survivors(sentence) == [("ratio", 0.49), ("ratio", 0.51)]


# the ledger that there is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES)
def test_the_check_of_a_sentence_can_be_called_as_it_is_and_says_what_it_compares(sentence):
    function = sentence.function()
    assert len((function.__doc__ or "").split()) >= 5
    if sentence.rows:
        return  # a table takes any of its numbers
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert parameter.default is not parameter.empty


def test_no_id_belongs_to_two_entries_of_the_three_kinds():
    names = [*claims.load(), *(entry.id for entry in claims.additions()), *SENTENCES]
    assert len(names) == len(set(names))


def test_every_status_is_counted_and_none_is_lost():
    tally = claims.status_counts(SENTENCES.values())
    assert list(tally) == ["proved", "derived", "fitted", "measured"]
    assert sum(tally.values()) == len(SENTENCES)


# the rules are shown to bite -------------------------------------------------------------------------------


@pytest.mark.usefixtures("pretended")
def test_good_entries_are_read_in_their_order(tmp_path):
    path = written(tmp_path, OTHER | {"scope": "all cells"}, GOOD)
    sentences = claims.load_sentences(path)
    assert list(sentences) == ["intro-2", "03-1"]
    assert [entry.scope for entry in sentences.values()] == ["all cells", ""]
    assert sentences["03-1"].known == "measured"
    assert [entry.text for entry in sentences.values()] == ["So is this.", "All is well."]
    assert {entry.place for entry in sentences.values()} == {"intro"}


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"colour": "red"}, "no key 'colour'"),
        ({"text": "All is well."}, "no key 'text'"),
        ({"scope": " "}, "scope must be text that says something"),
        ({"scope": 3}, "scope must be text"),
        ({"id": "E12"}, "an id is"),
        ({"id": "03-0"}, "an id is"),
        ({"status": "hoped"}, "status must be one of proved, derived, fitted, measured"),
        ({"status": "read"}, "status must be one of"),
        ({"check": "os:system"}, "must look like"),
        ({"check": "03-2"}, "or be the id of an entry"),
        ({"check": "edgelaw_ledger.own.nowhere:x"}, "cannot be found"),
        ({"check": "edgelaw_ledger.own.pretended:x"}, "cannot be found"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_refused_by_name(tmp_path, changes, complaint):
    with pytest.raises(claims.LedgerError, match=complaint) as refusal:
        claims.load_sentences(written(tmp_path, GOOD | changes))
    assert str(refusal.value).startswith((GOOD | changes)["id"])


@pytest.mark.usefixtures("pretended")
def test_a_missing_key_a_twin_and_another_block_are_refused(tmp_path):
    for entries, complaint in (
        ([{key: value for key, value in GOOD.items() if key != "check"}], "either a check or rows"),
        ([GOOD, GOOD], "03-1 stands twice"),
    ):
        with pytest.raises(claims.LedgerError, match=complaint):
            claims.load_sentences(written(tmp_path, *entries))
    with pytest.raises(claims.LedgerError, match="no block 'sentense'"):
        claims.load_sentences(written(tmp_path, GOOD, kind="sentense"))
    with pytest.raises(claims.LedgerError, match="cannot be read"):
        claims.load_sentences(tmp_path / "nowhere.toml")


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize(
    ("entries", "files", "complaint"),
    [
        ([GOOD], {}, "intro-2 is marked in intro, but data/additions.toml has no such entry"),
        ([GOOD, OTHER, OTHER | {"id": "intro-3"}], {}, "intro-3: no page marks its words"),
        (
            [GOOD],
            {"a.md": ALL, "b.md": ALL.replace("well", "bad")},
            "03-1 is marked twice, with other words in b",
        ),
        ([GOOD], {"a.md": "<!-- result 03-1 -->"}, "03-1 is marked in a, but no words stand before"),
    ],
)
def test_entries_and_markers_that_differ_are_refused(tmp_path, entries, files, complaint):
    with pytest.raises(claims.LedgerError, match=complaint):
        claims.load_sentences(written(tmp_path, *entries, **files))


@pytest.mark.usefixtures("pretended")
def test_an_entry_may_name_another_one_whose_check_scope_and_status_it_shares(tmp_path):
    rows = {"id": "03-1", "status": "derived", "scope": "two", "rows": [{"what": "two", "true": "2 > 1"}]}
    entries = claims.load_sentences(written(tmp_path, rows, {"id": "intro-2", "check": "03-1"}))
    assert entries["intro-2"].function() == entries["03-1"].function()
    assert (entries["intro-2"].status, entries["intro-2"].text) == ("derived", "So is this.")


@pytest.mark.usefixtures("pretended")
def test_the_same_words_may_stand_in_two_places(tmp_path):
    path = written(tmp_path, GOOD, **{"README.md": ALL, "chapters/03_x.md": ALL.replace(" is ", "\nis ")})
    assert claims.load_sentences(path)["03-1"].text == "All is well."


# the front pages' checks, shown to go red ------------------------------------------------------------------


@pytest.fixture
def tampered(monkeypatch):
    """Multiply one cell of a recorded sweep."""

    def tamper(sweep, key, place, factor):
        recorded = {name: values.copy() for name, values in data.sweep(sweep).items()}
        recorded[key][place] *= factor
        monkeypatch.setattr(
            data, "sweep", lambda name, read=data.sweep: recorded if name == sweep else read(name)
        )

    return tamper


def test_a_cell_in_which_another_order_wins_turns_the_first_pages_sentence_red(tampered):
    check = SENTENCES["intro-15"].function()
    assert check().verdict == "holds"
    tampered("real_embeddings", "wikipedia random_reshuffle exact", (0, -1, 1), 1.01)  # one step and epoch
    assert check().verdict == "fails"


@pytest.mark.parametrize("sweep", ["predict_accuracy", "embedding_traces"])
def test_one_loss_that_is_further_off_turns_the_accuracy_red(tampered, sweep):
    check = SENTENCES["intro-3"].function()
    assert check().verdict == "holds"
    tampered(sweep, "measured", (3, *3 * (0,)) if sweep == "predict_accuracy" else 6 * (0,), 1.01)
    assert check().verdict == "fails"


@pytest.mark.parametrize(
    ("check", "before", "after"),
    [
        ("order_is_lowest_or_tied", "Use single shuffle", "Use flip-flop"),
        ("order_is_lowest_or_tied", "single shuffle and flip-flop are tied", "flip-flop is tied"),
        ("margins_are_those_of_the_losses", " % more", "0 % more"),
        ("margins_are_those_of_the_losses", "random reshuffle leaves", "flip-flop leaves"),
        ("lr_and_loss_are_those_of_the_order", "lr = 0.0", "lr = 0.00"),
        ("lr_and_loss_are_those_of_the_order", "It leaves 0", "It leaves 1"),
        ("target_is_reached_by_then", "is reached", "is not reached"),
    ],
)
def test_a_recommendation_that_says_something_else_than_its_losses_is_caught(
    monkeypatch, check, before, after
):
    from edgelaw_ledger.own import recommendation

    answers = recommendation._answers()
    assert getattr(recommendation, check)().verdict == "holds"
    changed = [(forecast, text.replace(before, after, 1)) for forecast, text in answers]
    assert changed != answers
    monkeypatch.setattr(recommendation, "_answers", lambda: changed)
    assert getattr(recommendation, check)().verdict == "fails"
