"""The papers' tables and figures, computed anew: each with what was printed beside what was measured, and a verdict."""

from mccfr_plus.experiments.papers.farina2020 import FARINA_2020
from mccfr_plus.experiments.papers.gibson2012 import GIBSON_2012
from mccfr_plus.experiments.papers.item import Paper
from mccfr_plus.experiments.papers.lanctot2009 import LANCTOT_2009
from mccfr_plus.experiments.papers.minimizers import MINIMIZERS
from mccfr_plus.experiments.papers.rudolph2025 import RUDOLPH_2025

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (LANCTOT_2009, GIBSON_2012, FARINA_2020, RUDOLPH_2025, MINIMIZERS)
}
