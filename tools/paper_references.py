"""Lists the references to numbered parts of the papers that `papers/` repeats, and checks that these parts exist.

    python tools/paper_references.py

`PARTS` has the parts that the papers have. Exits with 1 if a reference names another one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("mccfr_plus", "papers", "docs", "tests", "tools", "benchmarks", "examples")


def numbers(first: int, last: int) -> set[str]:
    """Returns the numbers of a range as texts."""
    return {str(number) for number in range(first, last + 1)}


PARTS = {
    "Lanctot 2009": {
        "section": {*numbers(1, 6), "2.1", "2.2"},
        "appendix": {"A", *(f"A.{number}" for number in range(1, 8)), "A.1.1", "A.1.2", "A.6.1", "A.6.2"},
        "theorem": numbers(1, 10),
        "equation": numbers(1, 138),
        "algorithm": {"1"},
        "figure": {"1"},
        "table": {"1"},
    },
    "Gibson 2012": {
        "section": numbers(1, 6),
        "theorem": numbers(1, 6),
        "equation": {"1", "2"},
        "algorithm": {"1"},
        "line": numbers(1, 17),  # of algorithm 1
        "figure": {"1a", "1b", "2a", "2b", "3", "3a", "3b"},
    },
    "Farina 2020": {
        "section": {*numbers(1, 6), *(f"{part}.{n}" for part in (2, 3, 4, 5) for n in (1, 2)), "2.3", "4.2.1"},
        "appendix": {"A", "B", "C"},
        "proposition": {"1", "2", "3"},
        "equation": numbers(1, 7),
        "algorithm": {"1"},
        "figure": numbers(1, 5),
        "footnote": {"1", "2"},
    },
    "Anagnostides, lecture 15": {
        "section": {"1", "1.1", "1.2", "1.3", "2", "3"},
        "theorem": {"1.1"},
        "equation": numbers(1, 3),
    },
}
_NAMES = {
    "Lanctot 2009": r"Lanctot(?:, Waugh, Zinkevich, Bowling| et al\.)?(?! +20(?!09))",
    "Gibson 2012": r"Gibson(?:, Burch, Lanctot, Szafron| et al\.)?",
    "Farina 2020": r"Farina(?:, Kroer,? (?:and )?Sandholm| et al\.) 2020",
    "Anagnostides, lecture 15": r"Anagnostides",
}
_OTHER = r"(?P<other>[A-Z]\w+(?:, [A-Z]\w+)*(?: et al\.)? (?:19|20)\d\d)"
_NUMBER = r"[A-C]?\.?\d(?:[\d.]*\d)?[ab]?"
_PART = (
    r"(?P<part>sections?|appendix|theorems?|propositions?|equations?|algorithms?|lines?|figures?|tables?|footnotes?) "
    rf"(?P<numbers>(?:{_NUMBER}|A|B|C)\b(?:(?:,| and| to) {_NUMBER}\b)*)"
)
_TOKENS = re.compile(
    "|".join([*(f"(?P<p{i}>{name})" for i, name in enumerate(_NAMES.values())), _OTHER, _PART]).replace(" ", " +"), re.I
)
# Files about one paper, in which a part without a name belongs to it.
_OF_FILE = {"lanctot2009": "Lanctot 2009", "gibson2012": "Gibson 2012", "farina2020": "Farina 2020"}


def references(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yields line, paper, kind of part and number. A part belongs to the paper named last in its paragraph."""
    text = path.read_text(encoding="utf-8")
    of_file = next((paper for key, paper in _OF_FILE.items() if key in str(path)), None)
    begin = 0
    for paragraph in re.split(r"(\n\s*\n)", text):
        paper = of_file
        in_a_line = re.sub(r"\n[ #*]*", lambda gap: " " * len(gap[0]), paragraph)
        for found in _TOKENS.finditer(in_a_line):
            named = [name for i, name in enumerate(PARTS) if found[f"p{i}"]]
            if named or found["other"]:
                paper = named[0] if named else None
            elif paper is not None and found["part"]:
                line = text.count("\n", 0, begin + found.start()) + 1
                for number in re.findall(rf"{_NUMBER}|\b[ABC]\b", found["numbers"]):
                    yield line, paper, found["part"].lower().rstrip("s"), number
        begin += len(paragraph)


def main() -> None:
    """Prints the list; wrong references have a mark."""
    wrong = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".py", ".md") or path == Path(__file__).resolve():
                continue
            for line, paper, part, number in references(path):
                is_right = number in PARTS[paper].get(part, set())
                wrong += not is_right
                mark = "" if is_right else "  <- not in the paper"
                print(f"{path.relative_to(ROOT)}:{line}: {paper}, {part} {number}{mark}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
