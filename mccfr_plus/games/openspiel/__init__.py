"""Compiled rules for OpenSpiel's own games, so that they are traversed without pyspiel."""

from mccfr_plus.games.openspiel.base import OpenSpielRules
from mccfr_plus.games.openspiel.registry import GAMES, compiled_rules, why_no_rules

__all__ = ["GAMES", "OpenSpielRules", "compiled_rules", "why_no_rules"]
