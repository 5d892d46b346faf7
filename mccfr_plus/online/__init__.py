"""Online play: a bot that learns from its games against any opponents, and matches between bots."""

from mccfr_plus.online.bot import OnlineOutcomeSampling
from mccfr_plus.online.match import MatchResult, play_games
from mccfr_plus.policies.table import InfoStatePolicy

__all__ = ["InfoStatePolicy", "MatchResult", "OnlineOutcomeSampling", "play_games"]
