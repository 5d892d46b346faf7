"""BibTeX for exactly the parts that a solver uses.

Each part class names its sources in a class attribute ``references``, keys of `BIBLIOGRAPHY`; `cite` collects them.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata

from mccfr_plus.errors import ConfigError
from mccfr_plus.solver.solver import Solver

# Papers that are cited whatever the parts: what the games are, and the method that all of them belong to.
_ALWAYS = ("lanctot2019openspiel",)

BIBLIOGRAPHY: dict[str, str] = {
    "zinkevich2007regret": r"""@inproceedings{zinkevich2007regret,
  author = {Zinkevich, Martin and Johanson, Michael and Bowling, Michael and Piccione, Carmelo},
  title = {Regret Minimization in Games with Incomplete Information},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {20},
  pages = {1729--1736},
  year = {2007},
}""",
    "lanctot2009monte": r"""@inproceedings{lanctot2009monte,
  author = {Lanctot, Marc and Waugh, Kevin and Zinkevich, Martin and Bowling, Michael},
  title = {{Monte Carlo} Sampling for Regret Minimization in Extensive Games},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {22},
  pages = {1078--1086},
  year = {2009},
}""",
    "mcaleer2023escher": r"""@inproceedings{mcaleer2023escher,
  author = {McAleer, Stephen and Farina, Gabriele and Lanctot, Marc and Sandholm, Tuomas},
  title = {{ESCHER}: Eschewing Importance Sampling in Games by Computing a History Value Function to Estimate Regret},
  booktitle = {International Conference on Learning Representations},
  year = {2023},
}""",
    "gibson2012efficient": r"""@inproceedings{gibson2012efficient,
  author = {Gibson, Richard and Burch, Neil and Lanctot, Marc and Szafron, Duane},
  title = {Efficient {Monte Carlo} Counterfactual Regret Minimization in Games with Many Player Actions},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {25},
  pages = {1880--1888},
  year = {2012},
}""",
    "farina2020stochastic": r"""@inproceedings{farina2020stochastic,
  author = {Farina, Gabriele and Kroer, Christian and Sandholm, Tuomas},
  title = {Stochastic Regret Minimization in Extensive-Form Games},
  booktitle = {Proceedings of the 37th International Conference on Machine Learning},
  series = {Proceedings of Machine Learning Research},
  volume = {119},
  pages = {3018--3028},
  year = {2020},
}""",
    "tammelin2014solving": r"""@misc{tammelin2014solving,
  author = {Tammelin, Oskari},
  title = {Solving Large Imperfect Information Games Using {CFR+}},
  howpublished = {arXiv:1407.5042},
  year = {2014},
}""",
    "tammelin2015solving": r"""@inproceedings{tammelin2015solving,
  author = {Tammelin, Oskari and Burch, Neil and Johanson, Michael and Bowling, Michael},
  title = {Solving Heads-Up Limit {Texas Hold'em}},
  booktitle = {Proceedings of the 24th International Joint Conference on Artificial Intelligence},
  pages = {645--652},
  year = {2015},
}""",
    "burch2019revisiting": r"""@article{burch2019revisiting,
  author = {Burch, Neil and Moravcik, Matej and Schmid, Martin},
  title = {Revisiting {CFR+} and Alternating Updates},
  journal = {Journal of Artificial Intelligence Research},
  volume = {64},
  pages = {429--443},
  year = {2019},
}""",
    "brown2019solving": r"""@inproceedings{brown2019solving,
  author = {Brown, Noam and Sandholm, Tuomas},
  title = {Solving Imperfect-Information Games via Discounted Regret Minimization},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume = {33},
  pages = {1829--1836},
  year = {2019},
}""",
    "brown2015regret": r"""@inproceedings{brown2015regret,
  author = {Brown, Noam and Sandholm, Tuomas},
  title = {Regret-Based Pruning in Extensive-Form Games},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {28},
  pages = {1972--1980},
  year = {2015},
}""",
    "farina2021faster": r"""@inproceedings{farina2021faster,
  author = {Farina, Gabriele and Kroer, Christian and Sandholm, Tuomas},
  title = {Faster Game Solving via Predictive {Blackwell} Approachability: Connecting Regret Matching and Mirror
    Descent},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume = {35},
  pages = {5363--5371},
  year = {2021},
}""",
    "farina2021better": r"""@inproceedings{farina2021better,
  author = {Farina, Gabriele and Kroer, Christian and Sandholm, Tuomas},
  title = {Better Regularization for Sequential Decision Spaces: Fast Convergence Rates for {Nash}, Correlated, and
    ThreadTeam Equilibria},
  booktitle = {Proceedings of the 22nd ACM Conference on Economics and Computation},
  pages = {432},
  year = {2021},
}""",
    "farina2019optimistic": r"""@inproceedings{farina2019optimistic,
  author = {Farina, Gabriele and Kroer, Christian and Sandholm, Tuomas},
  title = {Optimistic Regret Minimization for Extensive-Form Games via Dilated Distance-Generating Functions},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {32},
  pages = {5221--5231},
  year = {2019},
}""",
    "freund1997decision": r"""@article{freund1997decision,
  author = {Freund, Yoav and Schapire, Robert E.},
  title = {A Decision-Theoretic Generalization of On-Line Learning and an Application to Boosting},
  journal = {Journal of Computer and System Sciences},
  volume = {55},
  number = {1},
  pages = {119--139},
  year = {1997},
}""",
    "hart2000simple": r"""@article{hart2000simple,
  author = {Hart, Sergiu and Mas-Colell, Andreu},
  title = {A Simple Adaptive Procedure Leading to Correlated Equilibrium},
  journal = {Econometrica},
  volume = {68},
  number = {5},
  pages = {1127--1150},
  year = {2000},
}""",
    "hoda2010smoothing": r"""@article{hoda2010smoothing,
  author = {Hoda, Samid and Gilpin, Andrew and Pe{\~n}a, Javier and Sandholm, Tuomas},
  title = {Smoothing Techniques for Computing {Nash} Equilibria of Sequential Games},
  journal = {Mathematics of Operations Research},
  volume = {35},
  number = {2},
  pages = {494--512},
  year = {2010},
}""",
    "kroer2020faster": r"""@article{kroer2020faster,
  author = {Kroer, Christian and Waugh, Kevin and K{\i}l{\i}n{\c{c}}-Karzan, Fatma and Sandholm, Tuomas},
  title = {Faster Algorithms for Extensive-Form Game Solving via Improved Smoothing Functions},
  journal = {Mathematical Programming},
  volume = {179},
  pages = {385--417},
  year = {2020},
}""",
    "schmid2019variance": r"""@inproceedings{schmid2019variance,
  author = {Schmid, Martin and Burch, Neil and Lanctot, Marc and Moravcik, Matej and Kadlec, Rudolf and Bowling,
    Michael},
  title = {Variance Reduction in {Monte Carlo} Counterfactual Regret Minimization ({VR-MCCFR}) for Extensive Form
    Games Using Baselines},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume = {33},
  pages = {2157--2164},
  year = {2019},
}""",
    "davis2020low": r"""@inproceedings{davis2020low,
  author = {Davis, Trevor and Schmid, Martin and Bowling, Michael},
  title = {Low-Variance and Zero-Variance Baselines for Extensive-Form Games},
  booktitle = {Proceedings of the 37th International Conference on Machine Learning},
  series = {Proceedings of Machine Learning Research},
  volume = {119},
  pages = {2392--2401},
  year = {2020},
}""",
    "grigoriadis1995sublinear": r"""@article{grigoriadis1995sublinear,
  author = {Grigoriadis, Michael D. and Khachiyan, Leonid G.},
  title = {A Sublinear-Time Randomized Approximation Algorithm for Matrix Games},
  journal = {Operations Research Letters},
  volume = {18},
  number = {2},
  pages = {53--58},
  year = {1995},
}""",
    "rakhlin2013online": r"""@inproceedings{rakhlin2013online,
  author = {Rakhlin, Alexander and Sridharan, Karthik},
  title = {Online Learning with Predictable Sequences},
  booktitle = {Proceedings of the 26th Annual Conference on Learning Theory},
  series = {Proceedings of Machine Learning Research},
  volume = {30},
  pages = {993--1019},
  year = {2013},
}""",
    "syrgkanis2015fast": r"""@inproceedings{syrgkanis2015fast,
  author = {Syrgkanis, Vasilis and Agarwal, Alekh and Luo, Haipeng and Schapire, Robert E.},
  title = {Fast Convergence of Regularized Learning in Games},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {28},
  pages = {2989--2997},
  year = {2015},
}""",
    "lanctot2019openspiel": r"""@misc{lanctot2019openspiel,
  author = {Lanctot, Marc and Lockhart, Edward and Lespiau, Jean-Baptiste and Zambaldi, Vinicius and Upadhyay,
    Satyaki and P{\'e}rolat, Julien and Srinivasan, Sriram and Timbers, Finbarr and Tuyls, Karl and Omidshafiei,
    Shayegan and others},
  title = {{OpenSpiel}: A Framework for Reinforcement Learning in Games},
  howpublished = {arXiv:1908.09453},
  year = {2019},
}""",
}


def cite(solver: Solver) -> str:
    """Returns BibTeX entries for the parts of a solver, OpenSpiel and this package.

    A part of your own is cited if its class has ``references``: keys of `BIBLIOGRAPHY` or whole BibTeX entries, which
    begin with ``@``. One without is left out.

    Raises:
        ConfigError: If a part refers to a key that does not exist.

    Example:
        >>> import mccfr_plus
        >>> text = cite(mccfr_plus.Solver("kuhn_poker", "external", "rm"))
        >>> "OpenSpiel" in text
        True
    """
    used = (solver.estimator, solver.baseline, solver.minimizer, solver.averaging)
    keys = [key for part in used for key in getattr(part, "references", ())]
    return "\n\n".join([*entries((*keys, *_ALWAYS)), _package_entry()]) + "\n"


def entries(keys: Iterable[str]) -> list[str]:
    """Returns the BibTeX entries of keys, each once, in their order; whole entries stand for themselves.

    Raises:
        ConfigError: If there is no such key.
    """
    found = []
    for key in dict.fromkeys(keys):
        if key.lstrip().startswith("@"):
            found.append(key.strip())
        elif key in BIBLIOGRAPHY:
            found.append(BIBLIOGRAPHY[key])
        else:
            known = ", ".join(BIBLIOGRAPHY)
            raise ConfigError(
                f"references name {key!r}: give a whole BibTeX entry (it begins with @) or one of {known}."
            )
    return list(dict.fromkeys(found))


def _package_entry() -> str:
    """Returns the entry of this package, with the installed version where it is installed."""
    try:
        version = f"  version = {{{metadata.version('mccfr_plus')}}},\n"
    except metadata.PackageNotFoundError:
        version = ""
    title = "{mccfr\\_plus}: {Monte Carlo} Counterfactual Regret Minimization for any {OpenSpiel} Game"
    return f"@software{{mccfr_plus,\n  author = {{{{The mccfr\\_plus authors}}}},\n  title = {{{title}}},\n{version}}}"
