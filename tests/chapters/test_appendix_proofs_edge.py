"""Proofs IV: what its cells print agrees with what the theorem and the lemma say."""

from itertools import pairwise

from outputs import numbers, text

CHAPTER = "appendix_proofs_edge"


def test_identities_hold_to_rounding():
    assert "mean over all orders against its formula: below 1e-14: True" in text(CHAPTER)
    assert "the identity at n = 1 holds to 1e-12: True" in text(CHAPTER)


def test_on_slow_spaces_the_norms_fall_like_the_root_of_their_share():
    for name in ("norm of MM' − B, over root f", "norm of N, over root f"):
        ratios = numbers(CHAPTER, name + r" +(\S+)" * 4)
        assert max(ratios) < 1.5 * min(ratios)


def test_flip_flops_slow_eigenvalues_are_as_many_as_the_law_says():
    counts = numbers(CHAPTER, r"16th, 51st, 101st of K: (\S+) (\S+) (\S+)")
    for count, stated in zip(counts, (15, 50, 100), strict=True):
        assert abs(count - stated) <= 3


def test_powers_of_an_epoch_approach_those_without_the_skew_part():
    distances = numbers(CHAPTER, r"relative distance at n = 1, 4, 16, 64:" + r" (\S+)" * 4)
    assert all(late < 0.8 * early for early, late in pairwise(distances))


def test_the_training_loss_is_never_below_its_bound():
    cases, largest = numbers(CHAPTER, r"(\d+) cases; the left side over the training loss is at most (\S+)")
    assert cases == 400
    assert 0.8 < largest < 1


def test_rows_follow_their_eigenvalues_only_with_flat_diagonals_and_small_entries():
    for kind, follows in (
        ("coloured Gaussian", True),
        ("circulant, mixed", True),
        ("circulant, in order", False),
        ("half orthonormal", False),
        ("half in a quarter", False),
    ):
        flat, few, many, test, _, train, _ = numbers(
            CHAPTER, kind + r" +(\S+) +(\S+) +(\S+) +(\S+) ± (\S+) +(\S+) ± (\S+)"
        )
        assert (flat < 0.1 and many < 0.7 * few) == follows
        assert (max(abs(test - 1), abs(train - 1)) < 0.02) == follows
