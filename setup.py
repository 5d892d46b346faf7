"""Installs mccfr_plus: pure Python, compiled by Numba on first use."""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
PLOT = ["matplotlib>=3.8", "bokeh>=3.4"]
EXPORT = ["pandas>=2.0", "pyarrow>=15"]
RAY = ["ray[client]>=2.54"]  # older ones listen on every interface

setup(
    name="mccfr_plus",
    version="0.2.0",
    description="Monte Carlo counterfactual regret minimization for any OpenSpiel game",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=find_packages(include=["mccfr_plus", "mccfr_plus.*"]),
    package_data={
        "mccfr_plus": ["py.typed", "references.bib"],
        "mccfr_plus.games": ["*.json"],
        "mccfr_plus.checks": ["*.efg"],
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
        "scipy>=1.10",
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
            *PLOT,
        ],
        "neural": ["torch>=2.0"],
        "ray": RAY,
        "export": EXPORT,
    },
    entry_points={"console_scripts": ["mccfr-plus=mccfr_plus.cli.main:main"]},
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
)
