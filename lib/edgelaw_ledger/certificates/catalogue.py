"""All certificates, part by part."""

from edgelaw_ledger.certificates import finite, leading, second_order, singular
from edgelaw_ledger.certificates.balls import precisely
from edgelaw_ledger.certificates.entries import Certificate

GROUPS = (
    leading.constants,
    singular.trace_moments,
    singular.singularities,
    singular.laws,
    singular.ratios,
    second_order.shuffle_test,
    second_order.shuffle_train,
    second_order.flip_flop_train,
    second_order.stirling,
    second_order.overdetermined,
    finite.single_shuffle,
    finite.independent,
    finite.flip_flop_counts,
    finite.first_coefficients,
    finite.reshuffled,
    finite.trace_moments,
    finite.one_epoch,
)


@precisely()
def everything() -> tuple[Certificate, ...]:
    """All of them, computed once."""
    return tuple(entry for group in GROUPS for entry in group())
