"""Installs mccfr_plus: pure Python, compiled by Numba on first use."""

import os
import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
VERSION = "0.2.0"
PLOT = ["matplotlib>=3.8", "bokeh>=3.4"]
EXPORT = ["pandas>=2.0", "pyarrow>=15"]
RAY = ["ray[client]>=2.54"]  # older ones listen on every interface

# "owner/name" where GitHub builds a release. Elsewhere it is unknown, and the metadata has no links to files.
REPOSITORY = os.environ.get("GITHUB_REPOSITORY", "")
URL = f"https://github.com/{REPOSITORY}"


def long_description() -> str:
    """Returns the README for a package index: links to files lead to the repository, or become plain text."""

    def link(match: re.Match) -> str:
        image, label, target = match.groups()
        if "://" in target or target.startswith("#"):
            return match[0]
        if not REPOSITORY:
            return "" if image else label
        return f"{image}[{label}]({URL}/{'raw' if image else 'blob'}/v{VERSION}/{target})"

    return re.sub(r"(!?)\[([^]]*)\]\(([^)\s]+)\)", link, (ROOT / "README.md").read_text(encoding="utf-8"))


setup(
    name="mccfr_plus",
    version=VERSION,
    description="Monte Carlo counterfactual regret minimization for any OpenSpiel game",
    long_description=long_description(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    author="The mccfr_plus maintainers",
    keywords="MCCFR, CFR, counterfactual regret minimization, OpenSpiel, game theory, Nash equilibrium, poker",
    project_urls={
        name: f"{URL}/{path}"
        for name, path in {
            "Source": "",
            "Documentation": f"tree/v{VERSION}/docs",
            "Changelog": f"blob/v{VERSION}/CHANGELOG.md",
            "Issues": "issues",
        }.items()
        if REPOSITORY
    },
    packages=find_packages(include=["mccfr_plus", "mccfr_plus.*"]),
    package_data={
        "mccfr_plus": ["py.typed", "references.bib"],
        "mccfr_plus.games": ["*.json"],
        "mccfr_plus.checks": ["*.efg"],
        "mccfr_plus.experiments": ["pages/*"],
    },
    python_requires=">=3.11",
    install_requires=[
        "open_spiel>=2.0",
        "numpy>=1.26",
        "scipy>=1.11",
        "absl-py>=2.0",
        "numba>=0.62,<0.70",
        "psutil>=5.9",
        "filelock>=3.30",
        "tqdm>=4.60",
    ],
    extras_require={
        "test": [
            "pytest>=8",
            "pytest-xdist>=3.8",
            "hypothesis>=6",
            "ruff>=0.9",
            "mypy>=1.10",
            "torch==2.13.0",
            *PLOT,
            *RAY,
            *EXPORT,
            "polars>=1.0",
        ],
        "plot": PLOT,
        "docs": [
            "mkdocs>=1.6,<2",
            "mkdocs-material>=9.6,<10",
            "mkdocstrings[python]>=1.0,<2",
            "markdown-exec>=1.10,<2",
            "latex2mathml>=3.78,<4",
            "nbclient>=0.10",
            "nbformat>=5.10",
            "ipykernel>=6.29",
            *PLOT,
        ],
        "neural": ["torch>=2.4"],
        "ray": RAY,
        "export": EXPORT,
    },
    entry_points={"console_scripts": ["mccfr-plus=mccfr_plus.cli.main:main"]},
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Intended Audience :: Education",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Games/Entertainment :: Board Games",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Scientific/Engineering :: Mathematics",
        "Typing :: Typed",
    ],
)
