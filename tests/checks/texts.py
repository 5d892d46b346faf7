"""What the errors of all checks say."""

import pytest

from mccfr_plus import CheckError


def text_of_error(check, message):
    """Returns the text of the error that a check raises, which says where and at what to look."""
    with pytest.raises(CheckError, match=message) as caught:
        check()
    text = str(caught.value)
    assert len(text) <= 400
    assert "look at:" in text
    return text
