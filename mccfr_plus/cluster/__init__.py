"""Solvers and comparisons on a Ray cluster. Needs the extra ``ray``: ``pip install 'mccfr_plus[ray]'``."""

from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.cluster.solver import DistributedSolver

__all__ = ["Cluster", "DistributedSolver"]
