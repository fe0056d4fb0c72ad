"""The page on what the measures mean: each of its examples gives what stands there."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[4] / "docs" / "privacy-measures.md"


def test_the_examples_of_the_page_give_what_stands_there():
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 25
    assert found.failed == 0
