"""Group H, Appendix A: regimes, the shifted edge, Gaussian rows; and G14, G18, G19, which belong with them."""

import math

import mpmath
import numpy as np

from edgelaw import data, exact
from edgelaw.laws import EdgeFit, MarchenkoPastur
from edgelaw.spectrum import fit_edge_laplace, fit_shifted_edge, gram_eigenvalues
from edgelaw.theory import gradient_descent, random_reshuffle, single_shuffle
from edgelaw.theory import regimes as theory
from edgelaw_ledger import routes
from edgelaw_ledger.evidence import Evidence, Row, below, compared, drawn, near, off, true
from edgelaw_ledger.routes import averaged, close, gaussian_spectra, require


def h1() -> Evidence:
    """The exact spread of sums over independent and bunched eigenvalues of two sizes with F = x^beta."""
    rows: dict[str, list[Row]] = {"bunched": [], "independent": []}
    q = (np.arange(10**6) + 0.5) / 10**6
    for beta in (0.4, 0.5, 0.8):
        spreads = {}
        for d in (10**3, 10**5):
            n = round((0.5 * d) ** min(1, 0.5 / beta))  # n^beta = O(sqrt(d)) = o(d)
            factor = 1 - 0.8 * q ** (1 / beta)
            mean, square = (factor**n).mean(), (factor ** (2 * n)).mean()
            law = math.gamma(beta + 1) * (0.8 * n) ** -beta
            require(abs(mean / law - 1) < 2 / math.sqrt(n), "the mean, and rigid eigenvalues")
            # as many bunches as eigenvalues below 1/n: E F_d = F, and the sum does not settle
            for kind, count in (("independent", d), ("bunched", max(1, round(2 * n**beta)))):
                spreads[kind, d] = math.sqrt((square / mean**2 - 1) / count)
        for kind, found in rows.items():
            ratio = spreads[kind, 10**5] / spreads[kind, 10**3]
            found.append(below(f"{kind}, beta = {beta}: spread at d = 1e5 over that at 1e3", ratio, 0.5))
    return compared(*rows["bunched"], repaired=rows["independent"])


def h2(*, draws: int = 4000, dims: int = 24) -> Evidence:
    """Counts of eigenvalues below three cuts: their variance against that of independent ones, 4000 matrices."""
    rng, rows = np.random.default_rng(2), dict[str, list[Row]]()
    spectra = {
        "Gaussian": gaussian_spectra(draws, dims, rng),
        "independent": 4 * rng.random((draws, dims)) ** 2,
    }
    for name, lam in spectra.items():
        rows[name] = []
        for cut in (0.05, 0.5, 2.0):
            counts = (lam < cut).sum(axis=1)
            p = counts.mean() / dims
            ratio = averaged((counts - counts.mean()) ** 2 / (dims * p * (1 - p)))
            rows[name].append(drawn(f"{name}: variance of the count below {cut} over independent", *ratio, 1))
    return compared(*rows["Gaussian"], repaired=rows["independent"])


def h3() -> Evidence:
    """The inequality at 200 000 random steps, epochs and cuts, delta up to 1."""
    rng = np.random.default_rng(3)
    eta, n = rng.uniform(0.001, 1.999, 200_000), rng.integers(1, 300, 200_000)
    R = rng.random(200_000) * eta * n
    left = np.maximum((1 - R / n) ** n, np.abs(1 - eta) ** n)
    sampled = (left <= (np.exp(-R) + np.exp(-(2 - eta) * n)) * (1 + 1e-12)).all()
    what = "max{(1 - eta delta)^n, |1-eta|^n} <= e^-R + e^-(2-eta)n, 200 000 cases, delta <= 1"
    return compared(true(what, sampled))


def h4(*, power: float = 2.0) -> Evidence:
    """The two-sided bound at random points with y from 1e-9 to 1, and its order for small y by mpmath."""
    rng = np.random.default_rng(4)
    y = np.concatenate([rng.random(200_000), 0.5 * 10 ** -rng.uniform(0, 8.7, 100_000)])
    n = rng.integers(1, 400, y.size)
    one = np.where(y < 1e-3, y**2 * (0.5 + y / 3 + y**2 / 8), 1 - np.exp(y) * (1 - y))  # 1 - e^y (1 - y)
    gap = -np.expm1(n * np.log1p(-one)) / (n * y**power)  # e^(ny) times the difference, free of cancellation
    with mpmath.workdps(30):
        small = [1 - mpmath.exp(x) * (1 - x) for x in (mpmath.mpf("1e-4"), mpmath.mpf("1e-6"))]
        order = float(mpmath.log(small[0] / small[1]) / mpmath.log(100))
    inside = gap.min() >= 0 and gap.max() <= 1
    return compared(
        true(f"0 <= e^-ny - (1-y)^n <= e^-ny n y^{power:g}, 300 000 cases, y <= 1", inside),
        near("order of the gap in y", order, power, 0.005),
    )


def h5() -> Evidence:
    """The first term (R^2/n) F(delta) over its target for two choices of R and two exponents, and its coefficient."""
    printed, repaired, eta = [], [], 0.6
    for beta in (0.5, 0.8):

        def rise(R, beta=beta):  # with delta = R/(eta n) and F = x^beta it is R^(beta + 2)/n (eta n)^-beta
            return (R(1e12) / R(1e3)) ** (beta + 2) / 1e9

        first = 9**2 / 1000 * (9 / (eta * 1000)) ** beta
        coefficient = first / (9 ** (beta + 2) / (eta * 1000) ** (beta + 1))
        text = f"beta = {beta}: growth of the term over (eta n)^-beta, n = 1e3 to 1e12"
        printed.append(below(f"R = n^0.6, {text}", rise(lambda n: n**0.6), 1))
        printed.append(near("its coefficient over the printed one", coefficient, 1, 1e-9))
        repaired.append(below(f"R = (beta + 1) log n, {text}", rise(math.log), 1))
        repaired.append(near("its coefficient over eta", coefficient / eta, 1, 1e-9))
        slow = [n**beta / math.log(n) for n in (1e3, 1e9)]  # R = log log n
        require(slow[1] > slow[0], "the tail e^-R needs R - beta log n to grow")
    return compared(*printed, repaired=repaired)


def h6() -> Evidence:
    """The variance of the terms by exact integrals in mpmath against the three-term bound, at several n and edges."""
    worst, front = 0.0, 0.0
    with mpmath.workdps(20):
        for beta in (0.4, 1.0, 1.6):
            for n in (30, 1000, 10**5):
                R, b, t = (beta + 1) * math.log(n), mpmath.mpf(beta), mpmath.mpf(0.8 * n)
                delta = min(R / t, mpmath.mpf(1))
                # of F = x^b up to delta: E e^(-rate x), and rate times the integral of e^(-rate x) F
                (one, first), (two, second) = (
                    [
                        b * r**-b * mpmath.gammainc(b, 0, r * delta),
                        r**-b * mpmath.gammainc(b + 1, 0, r * delta),
                    ]
                    for r in (t, 2 * t)
                )
                cut = mpmath.exp(-t * delta)
                bound = cut**2 * delta**b + 2 * cut * first + second
                worst = max(worst, (two - one**2) / bound)
                front = max(front, bound * t**b)
    return compared(
        below("Var(xi) over the three terms, nine cases", worst, 1),
        below("the three terms over (eta n)^-beta", front, 6),
    )


def h7() -> Evidence:
    """The upper incomplete gamma function by mpmath against e^-R times an explicit polynomial."""
    worst = 0.0
    with mpmath.workdps(25):
        for b in (0.3, 0.5, 1.0, 1.7, 3.2):
            whole = math.factorial(math.ceil(b))
            for R in map(mpmath.mpf, (0, 0.1, 1, 5, 30, 200)):
                polynomial = 1 + sum(whole / mpmath.factorial(j) * R**j for j in range(math.ceil(b) + 1))
                worst = max(worst, mpmath.gammainc(b + 1, R) * mpmath.exp(R) / polynomial)
    return compared(below("Gamma(b+1, R) over e^-R times a polynomial, 30 cases", worst, 1))


def h8(*, dims: int = 40) -> Evidence:
    """Independent, Gaussian-matrix and doubled spectra far beyond the window: the loss over the printed limit."""
    rng, rows, n = np.random.default_rng(8), {}, (100 * dims) ** 2
    independent = np.sort(rng.random((300, dims)) ** 2, axis=1)
    for name, lam, limit in (
        ("independent", independent, 1),
        ("Gaussian", gaussian_spectra(300, dims, rng) / 4.5, 1),
        ("doubled", np.repeat(independent, 2, axis=1), 2),
    ):
        power = n * (np.log1p(-0.8 * lam) - np.log1p(-0.8 * lam[:, :1]))
        loss = np.median(np.exp(power).sum(axis=1))
        rows[name] = [
            near(f"{name}: d times the loss over (1 - eta lmin)^n", loss, x, 0.01) for x in (1, limit)
        ]
    return compared(*(row[0] for row in rows.values()), repaired=[row[1] for row in rows.values()])


def h9(*, dims: int = 60) -> Evidence:
    """The mean over independent eigenvalues, an integral, at three values of kappa against the printed order."""
    ratios = []
    for kappa in (0.25, 1.0, 4.0):
        n = round((kappa * dims) ** 2)
        mean = float(mpmath.quad(lambda q, n=n: (1 - 0.8 * q * q) ** n, [0, 4 / math.sqrt(n), 1]))
        ratios.append(mean / (math.gamma(1.5) * (0.8 * n) ** -0.5))
    require(max(ratios) < 1.01 * min(ratios), "one order for every kappa")
    require(abs(ratios[2] - 1) < 1e-3, "Q Gamma(b+1)(eta n)^-b")
    return compared(near("mean over (eta n)^-b, kappa = 1/4 over kappa = 4", ratios[0] / ratios[2], 16, 0.01))


def h10() -> Evidence:
    """A counterexample, and what is true of it."""
    low, high, window = 0.5, 0.6, 0.2
    require(high - low <= window and high <= low + window, "lambda_i <= lambda_min + T/n")
    return compared(below("lam_i over T/n at lmin = 0.5, lam_i = 0.6, T/n = 0.2", high / window, 1))


def h11() -> Evidence:
    """The chain of inequalities at random eigenvalues on the event on which it is used, link by link."""
    rng = np.random.default_rng(11)
    eta = rng.uniform(0.05, 1.95, 10**5)
    low = rng.random(10**5) / (2 * eta)  # 1 - eta lmin >= 1/2
    gap = rng.random(10**5) * (1 / eta - low)
    r, middle = 1 - eta * gap / (1 - eta * low), np.exp(-eta * gap / (1 - eta * low))
    require((middle <= np.exp(-eta * gap) + 1e-15).all(), "exp(-eta Delta)")
    return compared(
        true("r <= exp(-eta D/(1 - eta lmin)), 100 000 cases", (r <= middle + 1e-15).all()),
        below("that over exp(-2 eta D), at most", (middle / np.exp(-2 * eta * gap)).max(), 1),
    )


def h12() -> Evidence:
    """The printed bound at the steps at which it is used, and the ratio itself for eigenvalues beyond 1/eta."""
    steps = np.linspace(1.0, 1.999, 1000)  # lambda <= 1 reaches 1/eta only for eta >= 1
    ratio = np.abs(1 - steps) / (1 - steps * 1e-6)
    require((ratio < 1).all(), "|1 - eta|/(1 - eta lmin) < 1 as lmin tends to 0")
    return compared(below("2|1 - eta| from eta = 3/2 on", 2 * abs(1 - 1.5), 1))


def h13() -> Evidence:
    """The least T that satisfies the printed inequality at growing d, in closed form."""
    least = [math.log(d / 0.01) / 1.6 for d in (1e2, 1e6, 1e12)]  # eps = 0.1, eta = 0.8
    require(close((least[2] - least[1]) * 1.6, math.log(1e6), 1e-9), "T grows as log d/(2 eta)")
    return compared(near("least T at d = 1e12 over that at d = 1e2", least[2] / least[0], 1, 0.01))


def h14() -> Evidence:
    """Both sides of the decomposition for odd and even n, steps on both sides of 1/lambda_max, at one spectrum."""
    lam, rows = np.array([0.1, 0.3, 1.0]), []
    for eta, n in ((1.7, 3), (1.7, 4), (0.8, 3), (0.8, 4)):
        truth = ((1 - eta * lam) ** n).mean()
        printed = (1 - eta * lam[0]) ** n / 3 * (np.abs((1 - eta * lam) / (1 - eta * lam[0])) ** n).sum()
        require(abs(truth) <= printed * (1 + 1e-12), "an upper bound")
        rows.append(off(f"eta lmax = {eta}, n = {n}", (printed - truth) / printed, 1e-9))
    return compared(*rows, repaired=rows[1:])


def h15(*, draws: int = 20000, dims: int = 24) -> Evidence:
    """The smallest of 24 independent eigenvalues and of Gaussian matrices, against Weibull and Edelman."""
    rng, edge, rows = np.random.default_rng(15), EdgeFit(0.5, 2 / np.pi), []
    noise = 1.95 / math.sqrt(draws)  # 99.9 %
    survival = 1 - (np.arange(draws) + 0.5) / draws
    independent = MarchenkoPastur(1.0).quantile(rng.random((draws, dims)).min(axis=1))
    gaussian = np.concatenate([gaussian_spectra(draws // 10, dims, rng)[:, 0] for _ in range(10)])
    for name, sample in (("independent", independent), ("Gaussian matrices", gaussian)):
        x = np.sort(sample)
        distance = np.abs(theory.smallest_survival_independent(x, dims, edge) - survival).max()
        rows.append(off(f"{name}: distance from exp(-a alpha^beta/kappa)", distance, noise + 0.5 / dims))
    edelman = np.abs(theory.smallest_survival(x, dims) - survival).max()
    require(edelman < noise + 0.25 / dims, "Edelman's law for Gaussian matrices")
    limit = 1e10 * math.log1p(-math.sqrt(0.7) / math.pi / 1e10)  # kappa = 2, alpha = 0.7
    require(close(limit, -math.sqrt(0.7) / math.pi, 1e-8), "the limit")
    return compared(*rows, repaired=rows[:1])


def h16() -> Evidence:
    """The predictor against exact sums on designed spectra, edges at zero and shifted, in and beyond the window."""
    step, ratio = 0.3, {}
    cases = ((0.0, 0.5, 256, 10**6), (0.02, 1.5, 20000, 100), (0.1, 0.75, 20000, 100))  # eta^2 lmin^2 n < 0.1
    critical = (0.0, 0.5, 256, 54613)  # 2 eta n = d^(1/beta)/2
    late = ((0.02, 1.5, 256, 5000), (0.1, 0.75, 256, 5000))
    for shift, beta, dims, n in (*cases, critical, *late):
        lam = shift + 2 * ((np.arange(1, dims + 1) - 0.5) / dims) ** (1 / beta)
        edge = EdgeFit(beta, 2**-beta, shift)
        truth = math.fsum(np.exp(2 * n * np.log1p(-step * lam))) / dims
        require(close(gradient_descent.curve(lam, [n], step).test[1], truth, 1e-9), "the exact sum")
        ratio[shift, n] = float(theory.gap_and_atom(n, edge, lam[0], 1 / dims, step)[0]) / truth
        better = float(theory.atoms_and_edge(n, edge, lam[:8], dims, step)[0]) / truth
        require(abs(better - 1) < 0.08, "eight atoms and a mass-conserving edge")
    excess = 5000 * 2 * (-step * 0.1 - math.log1p(-step * 0.1))
    require(abs(math.log(ratio[0.1, 5000]) / excess - 1) < 0.15, "the excess e^(eta^2 lambda_0^2 n)")
    require(round(ratio[0.0, 54613], 2) == 1.36, "36 % too much at n^beta ~ d, as the mass is not conserved")
    rows = [
        off(f"predicted over exact = 1, edge {shift:g}, n = {n:g}", abs(r - 1), 0.15)
        for (shift, n), r in ratio.items()
    ]
    return compared(*rows, repaired=rows[: len(cases)])


def h17() -> Evidence:
    """The predictor over the exact training loss of IID sampling, at an edge at zero and at gaps, by two routes."""
    ratios = {}
    for shift, n in ((0.0, 4000), (0.1, 100)):
        values, weights, Q = routes.power_law_nodes(0.5, shift)
        for step in (0.5, 1.5):
            t = 2 * step * n
            body = shift * t**-0.5 * math.gamma(0.5) + t**-1.5 * math.gamma(1.5)
            predicted = 2 / (2 - step) * math.exp(-shift * t) * Q * 0.5 * body
            truth = float(routes.iid_on_nodes(values, weights, n, step)[1])
            library = exact.curve("iid", values, [n], step, weights=weights).train[1]
            require(close(library, truth, 1e-5), "the exact loss")
            ratios[shift, step] = predicted / truth
    at_zero, late = [ratios[0.0, s] for s in (0.5, 1.5)], [ratios[0.1, s] for s in (0.5, 1.5)]
    require(close(at_zero, 1, 0.03), "the factor 2/(2 - eta) at an edge at zero")
    require(round(late[1], 2) == 0.14, "0.14 of the true one at an edge of 0.1 and step 1.5")
    return compared(
        near("predicted over exact, edge 0.1, step 0.5", late[0], 1, 0.01), near("step 1.5", late[1], 1, 0.01)
    )


def h18(*, dims: int = 200) -> Evidence:
    """The exact mean-square map of fresh Gaussian rows for the printed edge law, and scaled to trace 1."""
    values = ((np.arange(dims) + 0.5) / dims) ** 2  # F = sqrt(x) on (0, 1)
    small = values / values.sum()

    def growth(v, s):
        largest = float(np.linalg.eigvalsh(routes.gaussian_update(v, s))[-1])
        inside = s * v[-1] < 1 and s / 2 * np.sum(v / (1 - s * v)) < 1
        require((largest < 1) == inside, "the stability condition")
        return largest

    require(growth(values, 0.02) < 1 < growth(small, 2.05), "stable at a small step, not at a large one")
    rates, V = np.linalg.eigh(routes.gaussian_update(small, 0.5))
    t = 60 * dims
    loss = float(rates**t @ V.sum(axis=0) ** 2) / dims
    law = EdgeFit(0.5, values.sum() ** 0.5).laplace(2 * 0.5 * t)
    return compared(
        *(below(f"growth per update, eta = {s}", growth(values, s), 1) for s in (0.5, 1.9)),
        repaired=[
            *(below(f"the same at tr A = 1, eta = {s}", growth(small, s), 1) for s in (0.5, 1.9)),
            off("E tr S_t/d over the law there", abs(loss / law - 1), 0.03),
        ],
    )


def h19(*, two: float = 2.0, cross: float = 2.0) -> Evidence:
    """Isserlis' formula by exact Gauss-Hermite integration, and powers of M against the recursion, at two steps."""
    grid, weights = routes.gaussian_cubature()
    lam = np.array([0.2, 0.5, 1.1])
    rows, A, ones = grid * np.sqrt(lam), np.diag(lam), np.ones(3)
    first = second = 0.0
    for eta in (0.2, 0.7):
        P = np.eye(3) - eta * np.einsum("ri,rj->rij", rows, rows)
        S = np.array([[1.0, 0.3, 0], [0.3, 2.0, -0.4], [0, -0.4, 0.5]])
        printed = S - eta * (A @ S + S @ A) + eta**2 * (cross * A @ S @ A + np.trace(A @ S) * A)
        first = max(first, np.abs(np.einsum("r,rij->ij", weights, P @ S @ P) - printed).max())
        M = np.diag(1 - two * eta * lam + two * eta**2 * lam**2) + eta**2 * np.outer(lam, lam)
        S = np.eye(3)
        for t in range(1, 7):
            S = np.einsum("r,rij->ij", weights, P @ S @ P)
            second = max(second, abs(ones @ np.linalg.matrix_power(M, t) @ ones / np.trace(S) - 1))
    return compared(
        off("S - eta(AS+SA) + eta^2(2ASA + tr(AS)A)", first, 1e-12),
        off("E tr S_t = 1'M^t 1 to t = 6", second, 1e-12),
    )


def h20() -> Evidence:
    """The matrix of H19 with either sign of the rank-one part, at three eigenvalues."""
    lam, eta, z = np.array([0.2, 0.5, 1.1]), 0.7, 0.9
    D = np.diag(1 - 2 * eta * lam + 2 * eta**2 * lam**2)
    left, rank_one = np.eye(3) - z * routes.gaussian_update(lam, eta), z * eta**2 * np.outer(lam, lam)
    require(np.abs(left - (np.eye(3) - z * D - rank_one)).max() < 1e-12, "the minus sign")
    gap = np.abs(left - (np.eye(3) - z * D + rank_one)).max()
    return compared(off("I - zM = I - zD + z eta^2 lam lam'", gap, 1e-6))


def h21() -> Evidence:
    """The power series at twenty small spectra against the printed last line, and the line before it."""
    rng = np.random.default_rng(21)
    wrong, right = np.transpose([routes.off_generating_function(rng) for _ in range(20)])
    require(max(right) < 1e-9, "h0 + z eta^2 h1^2/(1 - z eta^2 h2), as the line before has it")
    return compared(off("h0 - z eta^2 h1^2/(1 + z eta^2 h2), twenty spectra, at best", min(wrong), 1e-6))


def h22() -> Evidence:
    """The range of alpha on [0, 1] at four steps, by exact critical points, against the printed interval."""
    rows, x = [], np.linspace(0, 1, 4001)
    for eta in (0.3, 0.8, 1.2, 1.8):
        alpha, end = (1 - eta * x) ** 2 + (eta * x) ** 2, 1 - 2 * eta + 2 * eta**2
        low, high = (0.5 if eta >= 0.5 else end), max(1.0, end)
        require(close([alpha.min(), alpha.max()], [low, high], 1e-6), "minimum 1/2 at x = 1/(2 eta)")
        rows.append(near(f"smallest alpha, eta = {eta}", low, 1, 1e-9))
        rows.append(near("largest", high, end, 1e-9))
    return compared(*rows)


def h23() -> Evidence:
    """The integrals near z = 1 by mpmath with the exact denominator, against the logarithms and against powers."""
    rows, powers = [], []
    with mpmath.workdps(30):
        for beta, eta in ((0.3, 0.5), (0.5, 0.9), (0.8, 0.5)):
            b = mpmath.mpf(beta)

            def H(k, e, b=b, eta=eta):  # 1 - z = e, in x = q^(1/b)
                def f(q):
                    x = q ** (1 / b)
                    return x**k / (e + (1 - e) * 2 * eta * x * (1 - eta * x))

                return mpmath.quad(f, [0] + [mpmath.mpf(10) ** -j for j in range(16, -1, -2)])

            late, early, limit = (H(1, mpmath.mpf(10) ** -k) for k in (12, 10, 24))
            growth = (late - H(1, mpmath.mpf("1e-8"))) / (b * mpmath.log(1e4))
            rows.append(near(f"growth of H_1 over -beta log(1-z), beta = {beta}", growth, 1, 0.01))
            lead = (2 * mpmath.mpf(eta)) ** -b * mpmath.gamma(b + 1) * mpmath.gamma(1 - b)
            powers.append(H(0, mpmath.mpf("1e-12")) / (lead * mpmath.mpf("1e-12") ** (b - 1)))
            powers.append((limit - early) / (lead / (2 * eta) * mpmath.mpf("1e-10") ** b))
    require(
        max(abs(p - 1) for p in powers) < 0.02, "(1-z)^(beta-1) in H_0 and (1-z)^beta in H_1, no logarithm"
    )
    return compared(*rows)


def h24(*, exponent: float = 1.0) -> Evidence:
    """Exact IID curves at three steps and exponents, the time in row updates: collapse in k/m, and the window's end."""
    rows, k, m = [], np.array([10**6, 10**7]), 1000
    for beta, step in ((0.4, 0.7), (0.5, 0.2), (0.5, 1.6), (0.8, 0.7)):
        values, weights, Q = routes.power_law_nodes(beta)
        loss = exact.curve("iid", values, k // m, step, weights=weights).test[1:]
        require(close(loss, Q * math.gamma(beta + 1) * (2 * step * k / m) ** -beta, 0.01), "(eta k/m)^-beta")
        slope = routes.slope(step * k / m, loss) / -beta
        rows.append(near(f"slope in eta k/m over -beta = {beta}, step {step}", slope, exponent, 0.005))
    scaled = []
    for d in (200, 800):
        lam = ((np.arange(d) + 0.5) / d) ** 2
        scaled.append(float(exact.curve("iid", lam / lam.mean(), [4 * d * d], 0.7).test[1] * 2 * d))
    name = "loss over its law at k^beta = 2 d m^beta, d = 200 over 800"
    return compared(*rows, near(name, scaled[0] / scaled[1], 1, 0.01))


def g14() -> Evidence:
    """Smallest eigenvalues of square Gaussian matrices of two sizes: their scale and law; a soft edge beside them."""
    rng, hard, soft = np.random.default_rng(140), [], []
    for d, count in ((16, 4000), (64, 1000)):
        square = gaussian_spectra(count, d, rng)[:, 0]
        tall = [
            np.linalg.svd(rng.standard_normal((50, 4 * d, d)), compute_uv=False)[:, -1]
            for _ in range(count // 50)
        ]
        hard.append(np.median(square))
        soft.append((np.concatenate(tall) ** 2 / (4 * d)).std())
        require(0.5 < square.std() / square.mean() < 2, "a spread of the order of the mean")
    scale, soft_scale = (math.log(x[0] / x[1]) / math.log(4) for x in (hard, soft))
    median = (-1 + math.sqrt(1 + 2 * math.log(2))) ** 2
    require(abs(64**2 * hard[1] / median - 1) < 0.15, "Edelman's median")
    require(abs(scale - 2) < 0.15, "the scale d^-2 at m = d")
    require(abs(soft_scale - 2 / 3) < 0.12, "the scale d^-2/3 at a soft edge, m = 4d")
    return compared(near("smallest eigenvalue ~ d^-x at m = d, x", scale, 2 / 3, 0.01))


def g18() -> Evidence:
    """Exact losses of single shuffle over random reshuffle at four steps, with 30 random matrices at two."""
    n, rows, constants = np.arange(2, 41), {}, []
    for s in (0.5, 1.0, 1.5, 1.9):
        worst = float((single_shuffle.test_loss(n, s) / random_reshuffle.test_loss(n, s)).max())
        rows[s] = below(f"single shuffle over random reshuffle at step {s}, n = 2 to 40", worst, 1)
        constants.append(single_shuffle.test_constant(s) / random_reshuffle.test_constant(s))
        require(close(constants[-1], math.sqrt(1 - s * s / 4), 1e-9), "sqrt(1 - eta^2/4)")
    require(round(worst, 2) == 1.22, "22 % behind at step 1.9")
    rng = np.random.default_rng(180)
    for s, epochs, side in ((1.0, 8, -1), (1.9, 20, 1)):
        ratios = []
        for _ in range(30):
            U = routes.unit_rows(100, 100, rng)
            fresh = np.linalg.multi_dot([routes.epoch_by_solve(rng.permutation(U), s) for _ in range(epochs)])
            single = np.linalg.matrix_power(routes.epoch_by_solve(U, s), epochs)
            ratios.append((single**2).sum() / (fresh**2).sum())
        mean, error = averaged(ratios)
        require(side * (mean - 1) > 4 * error, "random matrices")
    leading = below("ratio of constants, every step", max(constants), 1)
    return compared(*rows.values(), repaired=[rows[1.0], leading])


def _heavy_tailed(alpha, size, rng):
    """A square matrix of independent entries with tails of index alpha: exponents of its left edge and right tail."""
    values = gram_eigenvalues(rng.standard_t(alpha, (size, size)))
    top = np.sort(values)[-41:]
    return fit_edge_laplace(values).beta, 40 / float(np.log(top[1:] / top[0]).sum())


def _iterates(size, rng):
    """Exponent of the left edge of Gaussian rows as long as iterates with heavy tails."""
    w = np.zeros((4, size))
    for _ in range(600):
        w = (1 - 0.6 * rng.standard_normal(size) ** 2) * w + rng.standard_normal((4, size))
    values = gram_eigenvalues(np.linalg.norm(w, axis=0)[:, None] * data.gaussian(size, size, rng))
    return fit_edge_laplace(values).beta


def g19(*, size: int = 300, draws: int = 16) -> Evidence:
    """Spectra of the kinds the list names, 16 draws each: whether the left edge's exponent follows the right tail's."""
    rng, printed, repaired, tails = np.random.default_rng(190), [], [], []
    for alpha in (1.0, 1.5, 1.9):
        both = np.array([_heavy_tailed(alpha, size, rng) for _ in range(draws)])
        (beta, tail), error = both.mean(axis=0), both[:, 0].std() / math.sqrt(draws)
        require(error < 0.02, "standard errors below 0.02")
        printed.append(off(f"left exponent {beta:.2f}, right tail {tail:.2f}", abs(beta - tail), 0.1))
        repaired.append(off(f"left exponent 1/2, tail index {alpha}", abs(beta - 0.5), 0.1))
        tails.append(tail)
    require(tails[0] < tails[1] < tails[2] and tails[2] - tails[0] > 0.3, "right tails that differ")
    iterates = np.mean([_iterates(size, rng) for _ in range(draws)])
    pink = np.sort(np.abs(2 * np.sin(np.pi * (np.arange(4000) + 0.5) / 8000)) ** -1.0)
    shifted = fit_shifted_edge(pink, 0.02)
    repaired += [
        off("left exponent 1/2, heavy-tailed iterates", abs(iterates - 0.5), 0.1),
        off("1/f noise: exponent 1/2", abs(shifted.beta - 0.5), 0.05),
        off("at an edge of 1/2", abs(shifted.lambda_0 - 0.5), 0.01),
    ]
    return compared(*printed, repaired=repaired)
