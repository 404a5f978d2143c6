"""What `edgelaw.predict` says: warnings, epochs to a target, and which order to take, with the reason."""

import numpy as np

from edgelaw import spectrum
from edgelaw.theory import regimes

TIE = 0.03  # orders whose losses differ by less are not told apart
WORDS = {
    "iid": "sampling with replacement",
    "random_reshuffle": "random reshuffle",
    "single_shuffle": "single shuffle",
    "flip_flop": "flip-flop",
}


def edge(eigenvalues):
    r"""The left edge by `fit_edge_laplace` and the standard error of its exponent; None, None where there is no fit.

    The exponent is a ratio of sums over eigenvalues with weights w = exp(-tλ), and its error
    :math:`\sum_i w_i(t\lambda_i - \beta)/\sum_i w_i`. For **independent** eigenvalues this has the standard deviation
    :math:`\sqrt{\sum_i w_i^2 (t\lambda_i-\beta)^2}/\sum_i w_i`. For eigenvalues that **repel** each other as those
    of a Gaussian design do it is :math:`\sqrt{(\frac14+\beta^2)/2\pi}\,/\sum_i w_i`, far smaller: the covariance
    of :math:`\sum e^{-\tau\lambda}` and :math:`\sum e^{-\sigma\lambda}` in the Bessel process is
    :math:`\frac1{2\pi}\operatorname{sech}\frac12\log\frac\tau\sigma`. **Derived**; which of the two applies is
    read off the ratios of neighbouring gaps (`repel`). Half the difference to `fit_edge`, which sees a bend of the edge
    differently, is a lower bound.
    """
    try:
        fit = spectrum.fit_edge_laplace(eigenvalues)
    except ValueError:
        return None, None
    values = eigenvalues[eigenvalues > 0]
    t = 3 / fit.window[1]
    weights = np.exp(-t * values)
    if repel(values):
        error = np.sqrt((0.25 + fit.beta**2) / (2 * np.pi)) / weights.sum()
    else:
        error = np.sqrt(weights**2 @ (t * values - fit.beta) ** 2) / weights.sum()
    try:
        other = spectrum.fit_edge(eigenvalues, skip=min(5, fit.count // 4), zeros="drop").beta - fit.beta
    except ValueError:
        other = 0.0
    return fit, float(max(error, abs(other) / 2))


def repel(values):
    """Whether eigenvalues keep apart: the mean ratio of neighbouring gaps is 0.536 if they do, 0.386 if independent."""
    gaps = np.diff(np.sort(values))
    gaps = gaps[gaps > 0]
    if len(gaps) < 10:
        return False
    ratios = np.minimum(gaps[1:], gaps[:-1]) / np.maximum(gaps[1:], gaps[:-1])
    return bool(ratios.mean() - ratios.std() / np.sqrt(len(ratios)) > 0.46)


def reached(curve, target):
    """For each loss the first epoch at or below the target, or None, and a sentence on what is known beyond."""
    hits, beyond = {}, {}
    last = int(curve.epochs[-1])
    for loss in ("test", "train"):
        values = getattr(curve, loss)
        below = np.flatnonzero(values <= target) if target is not None else []
        hits[loss] = int(curve.epochs[below[0]]) if len(below) else None
        if target is not None and not len(below):
            beyond[loss] = f"not within {last} epochs, where it is {values[-1]:.3g}"
    return hits, beyond


def cautions(shape, eigenvalues, fit, fit_error, diagnostic, epochs, step, duplicates, target):
    """Codes and sentences, the weightiest first."""
    (m, d), found = shape, []
    rho, scale = m / d, eigenvalues / eigenvalues.mean()
    null = int((eigenvalues == 0).sum())
    if not diagnostic.fits:
        found.append(("not_haar", diagnostic.text))
    if m < 40:
        found.append(
            (
                "few_rows",
                f"{m} rows: eigenvalues of so few are not a spectrum, and curves vary from order to order.",
            )
        )
    if duplicates:
        found.append(
            (
                "duplicates",
                f"{duplicates} rows repeat an earlier one: an order cannot place them independently, and the "
                "training loss may be far from the theory.",
            )
        )
    if m < d:
        never = f", so the target {target:g} is never reached" if target and target < null / d else ""
        found.append(
            (
                "plateau",
                f"{m} rows in {d} dimensions leave {null} directions that no row has: the test loss (error of the "
                f"parameters) ends at {null / d:.3g} for every order and step{never}; the training loss ends at zero.",
            )
        )
    elif null:
        found.append(
            (
                "null_direction",
                f"{null} direction{'s' if null > 1 else ''} of {d} {'are' if null > 1 else 'is'} in no row (centring "
                f"takes one at m = d): {null / d:.2g} of the test loss stays for ever.",
            )
        )
    smallest = scale[null]
    rate = 2 * step * rho * smallest
    if rho > 1.2 and rate * epochs > 3:
        found.append(
            (
                "exponential",
                f"With {rho:.3g} rows a dimension the smallest eigenvalue is {smallest:.2g} of the mean: losses fall "
                f"exponentially, by a factor of about e every {1 / rate:.2g} epochs, not by a power law.",
            )
        )
    if fit is None:
        found.append(
            (
                "no_window",
                "There are too few different eigenvalues to fit a left edge: no power law is claimed.",
            )
        )
        return found
    if fit_error > max(0.15, 0.3 * fit.beta):
        found.append(
            (
                "edge_uncertain",
                f"The exponent of the left edge, {fit.beta:.2f} ± {fit_error:.2f}, is too uncertain to mean anything.",
            )
        )
    start, end = window(fit, d, m, step)
    if end < 4 * start and not (m < d or rho > 1.2):
        found.append(
            (
                "no_window",
                f"No power law to speak of: the edge is seen from epoch {start:.0f} on, and at epoch {end:.0f} one "
                "eigenvalue is left below 1/t.",
            )
        )
    return found


def window(fit, d, m, step):
    """First and last epoch of the power law of the edge, in the time t = 2·step·(m/d)·n."""
    scale = step * m / d
    at_mean = spectrum.EdgeFit(fit.beta, fit.Q, 0.0, fit.count, fit.null, fit.residual, fit.window)
    with np.errstate(over="ignore"):
        return float(regimes.window_start(at_mean, scale)), float(regimes.window_end(d, at_mean, scale))


def advise(losses, errors, steps, epochs, loss="test"):
    """Order, step, reason, margin and ties from the losses at the last epoch and their relative standard errors."""
    order = min(losses, key=losses.get)
    best, at = losses[order], f"after {epochs} epochs the {loss} loss"
    if len(losses) == 1:
        return order, steps[order], f"Only {WORDS[order]} was asked for; {at} is {best:.3g}.", 0.0, ()
    gaps = {name: value / best - 1 if best > 0 else 0.0 for name, value in losses.items() if name != order}
    noise = {name: 2 * float(np.hypot(errors[name], errors[order])) for name in gaps}
    tie = tuple(name for name, gap in gaps.items() if gap <= max(TIE, noise[name]))
    behind = {name: gap for name, gap in gaps.items() if name not in tie}
    if not tie:
        second, worst = min(behind, key=behind.get), max(behind, key=behind.get)
        reason = (
            f"{WORDS[order].capitalize()} at step {steps[order]:.3g}: {at} is {best:.3g}, and that of {WORDS[second]} "
            f"is {_more(behind[second])}"
        )
        reason += f", of {WORDS[worst]} {_more(behind[worst])}." if worst != second else "."
        return order, steps[order], reason, float(behind[second]), tie
    widest = max(gaps[name] for name in tie)
    reason = (
        f"{' and '.join([WORDS[order].capitalize(), ', '.join(WORDS[name] for name in tie)])} cannot be told apart: "
        f"{at} is {best:.3g}, and the others are within {100 * widest:.1f} %"
    )
    reason += ", which is within the noise" if widest > TIE else ""
    if behind:
        second = min(behind, key=behind.get)
        reason += f"; {WORDS[second]}'s is {_more(behind[second])}"
    return order, steps[order], reason + ".", float(min(gaps.values())), tie


def freely(reason, best, loss, losses):
    """The reason, and what a free choice of the step would gain, if more than a tie; `best` is what `_search` found."""
    known = {name: found[loss] for name, found in best.items() if found}
    if not known:
        return reason
    order = min(known, key=lambda name: known[name][1])
    step, least = known[order]
    if not least < (1 - TIE) * min(losses.values()):
        return reason
    equal = [
        WORDS[name] for name, (_, value) in known.items() if name != order and value <= (1 + TIE) * least
    ]
    also = (
        f" ({' and '.join(equal)} within {100 * TIE:.0f} % at the best step of that order)" if equal else ""
    )
    return f"{reason[:-1]}; free to choose the step, {WORDS[order]} at {step:.3g} leaves {least:.3g}{also}."


def _more(gap):
    """A relative difference in words."""
    return f"{100 * gap:.0f} % higher" if gap < 1 else f"{1 + gap:.3g} times as high"
