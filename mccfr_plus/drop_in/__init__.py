"""Solver classes with the names, arguments and methods of OpenSpiel's, on this package's solver.

Change the import and nothing else:

| OpenSpiel | here |
|---|---|
| ``from open_spiel.python.algorithms import cfr`` | ``from mccfr_plus.drop_in import cfr`` |
| ``from open_spiel.python.algorithms import cfr_br`` | ``from mccfr_plus.drop_in import cfr_br`` |
| ``from open_spiel.python.algorithms import discounted_cfr`` | ``from mccfr_plus.drop_in import discounted_cfr`` |
| ``... import external_sampling_mccfr`` | ``from mccfr_plus.drop_in import external_sampling_mccfr`` |
| ``... import outcome_sampling_mccfr`` | ``from mccfr_plus.drop_in import outcome_sampling_mccfr`` |
| ``import pyspiel`` | ``from mccfr_plus.drop_in import pyspiel`` |

`CFRSolver` and `CFRPlusSolver` of this package are those of OpenSpiel's Python module `cfr`; the C++ ones are in
`mccfr_plus.drop_in.pyspiel`. `DropInSolver` describes the common methods and the differences from OpenSpiel's classes.
"""

from mccfr_plus.drop_in.base import DropInSolver
from mccfr_plus.drop_in.cfr import CFRPlusSolver, CFRSolver
from mccfr_plus.drop_in.cfr import _CFRSolver as _CFRSolver
from mccfr_plus.drop_in.cfr import _InfoStateNode as _InfoStateNode
from mccfr_plus.drop_in.cfr import _update_current_policy as _update_current_policy
from mccfr_plus.drop_in.cfr_br import CFRBRSolver
from mccfr_plus.drop_in.discounted_cfr import DCFRSolver, LCFRSolver
from mccfr_plus.drop_in.discounted_cfr import _DCFRSolver as _DCFRSolver
from mccfr_plus.drop_in.external_sampling_mccfr import AverageType, ExternalSamplingSolver
from mccfr_plus.drop_in.outcome_sampling_mccfr import OutcomeSamplingSolver
from mccfr_plus.drop_in.pyspiel import ExternalSamplingMCCFRSolver, OutcomeSamplingMCCFRSolver

__all__ = [
    "AverageType",
    "CFRBRSolver",
    "CFRPlusSolver",
    "CFRSolver",
    "DCFRSolver",
    "DropInSolver",
    "ExternalSamplingMCCFRSolver",
    "ExternalSamplingSolver",
    "LCFRSolver",
    "OutcomeSamplingMCCFRSolver",
    "OutcomeSamplingSolver",
]
