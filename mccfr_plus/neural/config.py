"""Settings of neural solvers: frozen dataclasses, checked when they are built."""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args, get_origin, get_type_hints

from mccfr_plus.errors import ConfigError, did_you_mean
from mccfr_plus.parameters import LARGEST, check_choice, check_number, check_switch, check_whole
from mccfr_plus.solver.config import check_threads

# Names of algorithms, and of their classes. Each class has a config of that name and "Config".
ALGORITHMS = {"deep_cfr": "DeepCFR", "dream": "DREAM", "escher": "ESCHER", "nfsp": "NFSP"}
CFR, DCFR_PLUS, PDCFR_PLUS = "cfr", "dcfr+", "pdcfr+"


def _number(allowed: str, most: float = 1, inclusive: bool = False) -> Callable[[str, Any], None]:
    return functools.partial(check_number, above=0, most=most, allowed=f"must be {allowed}", inclusive=inclusive)


def _check_layers(name: str, value: Any) -> None:
    if not isinstance(value, tuple | list):
        raise ConfigError(f"{name}={value!r}: give a tuple of widths, such as (128, 128), or () for a linear model.")
    for width in value:
        check_whole(f"a width in {name}", width)


# By the type of a field; `Annotated` ones have a check of their own.
_CHECKS: dict[Any, Callable[[str, Any], None]] = {
    int: check_whole,
    bool: check_switch,
    float: _number("a positive number", LARGEST),
    tuple: _check_layers,
}
Probability: TypeAlias = Annotated[float, _number("a probability, from 0 to 1", inclusive=True)]
Threads: TypeAlias = Annotated[int, lambda name, value: check_threads(value)]
_TREE_ONLY = {"memory": "aggregated", "values": "exact", "sampling": "balanced"}  # settings that need a compiled tree


def by_representation(tree: Any, batched: Any) -> Any:
    """Returns a field whose default depends on the representation."""
    return field(default=None, metadata={"tree": tree, "batched": batched})


def check_representation(name: Any) -> None:
    if name not in (None, "tree", "batched"):
        raise ConfigError(
            f"representation={name!r}: give 'tree', 'batched', or None, which uses a tree if the game can be compiled."
        )


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of all configs: checks fields by their types; bad values are a ConfigError."""

    def __post_init__(self) -> None:
        kinds = get_type_hints(type(self), include_extras=True)
        for each in dataclasses.fields(self):
            name, kind, value = each.name, kinds[each.name], getattr(self, each.name)
            if value is None and each.metadata:
                continue
            if get_origin(kind) is Literal:
                check_choice(name, value, get_args(kind))
            elif isinstance(kind, type) and issubclass(kind, Config):
                if not isinstance(value, kind):
                    raise ConfigError(f"{name}={value!r}: give a {kind.__name__}.")
            else:
                check, *_ = getattr(kind, "__metadata__", None) or [_CHECKS[get_origin(kind) or kind]]
                check(name, value)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))

    def resolved(self, representation: str) -> Self:
        """Returns the config with the defaults of a representation, or a ConfigError if it needs the other one."""
        for name, value in _TREE_ONLY.items() if representation == "batched" else ():
            if getattr(self, name, None) == value:
                raise ConfigError(
                    f"{name}={value!r} needs a compiled tree: omit {name}, or give representation='tree'."
                )
        left_open = [each for each in dataclasses.fields(self) if each.metadata and getattr(self, each.name) is None]
        return dataclasses.replace(self, **{each.name: each.metadata[representation] for each in left_open})

    def as_dict(self) -> dict[str, Any]:
        """Returns the settings by name; those of a config within this one are called ``NAME.NAME``."""
        settings: dict[str, Any] = {}
        for name, value in vars(self).items():
            inner = value.as_dict() if isinstance(value, Config) else {}
            settings |= {f"{name}.{key}": each for key, each in inner.items()} or {name: value}
        return settings

    def changed(self, settings: Mapping[str, Any]) -> Self:
        """Returns the config with other values of some settings, named as in `as_dict`."""
        known, kinds, changes = self.as_dict(), get_type_hints(type(self)), dict[str, Any]()
        for name, value in settings.items():
            if name not in known:
                said = f"{type(self).__name__} has no setting {name!r}.{did_you_mean(name, known)}"
                raise ConfigError(f"{said} Give one of {', '.join(known)}.")
            outer, _, inner = name.partition(".")
            if inner:
                changes[outer] = changes.get(outer, getattr(self, outer)).changed({inner: value})
            else:
                is_whole = isinstance(value, float) and value.is_integer() and kinds[name] is int
                changes[name] = int(value) if is_whole else value  # 1e6
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(Config):
    """Shape of a network, and a step of its training.

    Args:
        hidden_layers: Widths; ``()`` for a linear model.
        learning_rate: Step size of Adam.
        batch_size: Number of samples (with aggregated memory, information sets) per training step; all if there are
            fewer.
    """

    hidden_layers: tuple[int, ...] = (128, 128)
    learning_rate: float = 2e-3
    batch_size: int = 1024


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(NetworkConfig):
    """Shape of a network, and how it is trained; see `NetworkConfig` for the other arguments.

    Args:
        train_steps: Steps of Adam per network and iteration.
        warm_start: Whether training continues with the network and moments of the last iteration instead of new ones.
    """

    train_steps: int = 40
    warm_start: bool = True


@dataclass(frozen=True, kw_only=True)
class AdvantageConfig(TrainingConfig):
    """Settings of an `AdvantageSolver`; see `TrainingConfig` for the other arguments.

    Args:
        traversals: Number of traversals per player and iteration.
        parallel_traversals: Number of traversals that run in parallel.
        memory: ``"aggregated"`` keeps the weighted mean of each information set's samples (compiled trees only).
            ``"reservoir"`` keeps a uniform sample of all samples, as in the papers.
        memory_capacity: Maximum number of samples per player in a reservoir; without a tree, also of strategies.
        minimizer: ``"cfr"``: networks learn mean regrets, with weight t in iteration t. ``"dcfr+"`` and ``"pdcfr+"``:
            networks learn discounted regrets from one iteration's samples, without a memory; ``"pdcfr+"`` also
            predicts.
        scale_targets: Whether targets are divided by half the player's payoff range.
        policy_training: Training of the average policy's networks, which a batched solver trains when the policy is
            requested.
        threads: Number of torch threads. Resumed runs are bitwise identical only with one thread.
    """

    traversals: int = 4000
    parallel_traversals: int = by_representation(tree=4000, batched=1000)
    learning_rate: float = by_representation(tree=2e-3, batched=1e-3)
    memory: Literal["aggregated", "reservoir"] = by_representation(tree="aggregated", batched="reservoir")
    memory_capacity: int = 1_000_000
    minimizer: Literal["cfr", "dcfr+", "pdcfr+"] = "cfr"
    scale_targets: bool = True
    policy_training: TrainingConfig = field(default_factory=lambda: TrainingConfig(train_steps=1000))
    threads: Threads = 1

    @property
    def references(self) -> tuple[str, ...]:
        return () if self.minimizer == CFR else ("xu2025deep",)

    @property
    def gamma(self) -> float:
        """Iteration t has weight t^gamma in the average policy (Xu et al. 2024)."""
        return {CFR: 1.0, DCFR_PLUS: 4.0, PDCFR_PLUS: 5.0}[self.minimizer]

    def discount(self, iteration: int) -> float:
        """Returns the factor of DCFR+ and PDCFR+ for the regrets of the first `iteration` iterations in the next."""
        power = float(iteration) ** (1.5 if self.minimizer == DCFR_PLUS else 2.3)
        return power / (power + 1.0)


@dataclass(frozen=True, kw_only=True)
class DeepCFRConfig(AdvantageConfig):
    """Settings of `DeepCFR`; see `AdvantageConfig`. The paper has ``warm_start=False`` and a reservoir."""

    traversals: int = by_representation(tree=4000, batched=500)
    parallel_traversals: int = by_representation(tree=4000, batched=100)


@dataclass(frozen=True, kw_only=True)
class DREAMConfig(AdvantageConfig):
    """Settings of `DREAM`; see `AdvantageConfig` for the other arguments.

    Args:
        epsilon: Probability of drawing the player's action uniformly instead of from the strategy, in (0, 1].
        baseline: Whether action values are learned as baselines; without baselines, this is outcome sampling.
        baseline_training: Shape and training of the action-value network.
    """

    epsilon: Annotated[float, _number("above 0 and at most 1")] = 0.5
    baseline: bool = True
    baseline_training: TrainingConfig = field(default_factory=TrainingConfig)


@dataclass(frozen=True, kw_only=True)
class ESCHERConfig(AdvantageConfig):
    """Settings of `ESCHER`; see `AdvantageConfig` for the other arguments.

    Args:
        values: History values: learned by a ``"network"``, or ``"exact"``, computed in a pass over the compiled tree.
        value_traversals: Number of trajectories per player and update that train the value network.
        value_exploration: Probability with which one player, in turn, draws an action of these trajectories uniformly.
        value_training: Shape and training of the value network.
        sampling: The fixed strategy from which the player's actions are drawn: ``"uniform"``, or ``"balanced"``, the
            exploration-balanced strategy of Farina et al. 2020, on a compiled tree.
    """

    values: Literal["network", "exact"] = "network"
    sampling: Literal["uniform", "balanced"] = "uniform"
    value_traversals: int = by_representation(tree=1000, batched=4000)
    value_exploration: Probability = 1.0
    value_training: TrainingConfig = field(default_factory=TrainingConfig)


@dataclass(frozen=True, kw_only=True)
class NFSPConfig(NetworkConfig):
    """Settings of `NFSP`; see `NetworkConfig` for the other arguments, which both networks share.

    A player's *steps* are its decisions and the ends of its episodes. An *update* trains each network for one step.

    Args:
        episodes: Number of episodes per iteration.
        parallel_episodes: Number of episodes that run in parallel. Updates follow each parallel group.
        learning_rate: Step size of Adam for the average policy.
        value_learning_rate: Step size of Adam for the action values of the best response.
        learn_every: Number of a player's steps between two of its updates.
        target_every: Number of updates between two copies of the value network to the target network.
        min_samples: Minimum number of samples in a memory before a network is trained from it.
        transition_capacity: Maximum number of transitions per player, of which the latest are kept (M_RL).
        decision_capacity: Maximum number of best-response decisions per player, kept as a uniform sample (M_SL).
        anticipatory: Probability with which a player plays its best response in an episode (eta).
        epsilon_start: Initial probability with which the best response plays a uniform action.
        epsilon_end: The limit of this probability.
        epsilon_decay: Number of a player's steps in which the distance to the limit shrinks by a factor of e.
        scale_targets: See `AdvantageConfig`.
        threads: See `AdvantageConfig`.
    """

    episodes: int = by_representation(tree=10_000, batched=1000)
    parallel_episodes: int = by_representation(tree=1250, batched=500)
    hidden_layers: tuple[int, ...] = (128,)
    learning_rate: float = 3e-3
    value_learning_rate: float = 3e-3
    batch_size: int = 512
    learn_every: int = by_representation(tree=1024, batched=128)
    target_every: int = 50
    min_samples: int = 1000
    transition_capacity: int = 50_000
    decision_capacity: int = by_representation(tree=2_000_000, batched=1_000_000)
    anticipatory: Probability = 0.3
    epsilon_start: Probability = 0.06
    epsilon_end: Probability = 0.001
    epsilon_decay: int = by_representation(tree=20_000_000, batched=1_000_000)
    scale_targets: bool = True
    threads: Threads = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("transition_capacity", "decision_capacity"):
            if (capacity := getattr(self, name)) is not None and capacity < self.min_samples:
                raise ConfigError(f"{name}={capacity} must be at least min_samples, which is {self.min_samples}.")

    def epsilon(self, steps: int) -> float:
        return self.epsilon_end + (self.epsilon_start - self.epsilon_end) * math.exp(-steps / self.epsilon_decay)
