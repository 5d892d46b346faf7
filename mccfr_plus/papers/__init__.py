"""The papers' tables and figures, computed anew: each with what was printed beside what was measured, and a verdict."""

from mccfr_plus.papers.item import Item, Paper, Result, Row
from mccfr_plus.papers.lanctot2009 import LANCTOT_2009

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (LANCTOT_2009,)}

__all__ = ["PAPERS", "Item", "Paper", "Result", "Row"]
