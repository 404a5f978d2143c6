"""What the checks share: second routes to the library's numbers, and how two numbers are compared.

The routes are written out from definitions and share no code with the library. A check imports from here, never from
another check. What does not depend on a stated number is cached, so that moving one costs a comparison only.
"""

from edgelaw_ledger.routes.comparing import averaged, beyond, close, errors_away, require, samples, within
from edgelaw_ledger.routes.constants import STEPS, constant_evidence, limit, moments_off, stirling
from edgelaw_ledger.routes.equations import (
    gaussian_cubature,
    gaussian_iid,
    gaussian_update,
    iid_on_nodes,
    off_generating_function,
    power_law_iid,
    power_law_nodes,
    power_law_transforms,
)
from edgelaw_ledger.routes.limits import constant, decay_exponent, limit_in_n, limit_in_root, slope
from edgelaw_ledger.routes.matrices import (
    X,
    Y,
    drawn,
    epoch,
    epoch_by_solve,
    extrapolated,
    gaussian_spectra,
    mean_update,
    on_matrices,
    one_row,
    unit_rows,
)
from edgelaw_ledger.routes.moments import (
    critical_moment,
    double_coefficient,
    exact_test,
    exact_train,
    lambert,
    moment_at_step,
    poisson_train,
    single_shuffle_loss,
    stieltjes,
    stieltjes_residual,
    taylor,
    two_resolvents,
)
