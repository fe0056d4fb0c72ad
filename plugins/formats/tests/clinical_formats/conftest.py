"""What every golden file of these formats holds."""

import pytest


@pytest.fixture
def golden_text() -> str:
    """CRLF, CR, tab, combining and astral characters, and what XML and JSON escape."""
    return (
        'Seen by "Dr." Ann Le\u0301e,\r\nward\t7, 3 May 2021.\rMRN <44>&]]>;'
        " \U0001f468\u200d\u2695\ufe0f Bo\n"
    )
