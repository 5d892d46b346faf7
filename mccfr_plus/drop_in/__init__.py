"""Solver classes with the names, arguments and methods of OpenSpiel's, on this package's solver.

Change the import and nothing else: write ``from mccfr_plus.drop_in import cfr`` (or cfr_br, discounted_cfr,
external_sampling_mccfr, outcome_sampling_mccfr) instead of ``from open_spiel.python.algorithms import cfr``, and ``from
mccfr_plus.drop_in import pyspiel`` instead of ``import pyspiel``.

`CFRSolver` and `CFRPlusSolver` of this package are those of OpenSpiel's Python module `cfr`; the C++ ones are in
`mccfr_plus.drop_in.pyspiel`. `DropInSolver` describes the common methods and the differences from OpenSpiel's classes.
"""

from mccfr_plus.drop_in.base import DropInSolver as DropInSolver
from mccfr_plus.drop_in.cfr import CFRPlusSolver as CFRPlusSolver
from mccfr_plus.drop_in.cfr import CFRSolver as CFRSolver
from mccfr_plus.drop_in.cfr_br import CFRBRSolver as CFRBRSolver
from mccfr_plus.drop_in.discounted_cfr import DCFRSolver as DCFRSolver
from mccfr_plus.drop_in.discounted_cfr import LCFRSolver as LCFRSolver
from mccfr_plus.drop_in.external_sampling_mccfr import AverageType as AverageType
from mccfr_plus.drop_in.external_sampling_mccfr import ExternalSamplingSolver as ExternalSamplingSolver
from mccfr_plus.drop_in.outcome_sampling_mccfr import OutcomeSamplingSolver as OutcomeSamplingSolver
from mccfr_plus.drop_in.pyspiel import ExternalSamplingMCCFRSolver as ExternalSamplingMCCFRSolver
from mccfr_plus.drop_in.pyspiel import OutcomeSamplingMCCFRSolver as OutcomeSamplingMCCFRSolver
