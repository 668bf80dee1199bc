"""What other people's programs rest on: the forms of our files and the keys of values are those published."""

from __future__ import annotations

import pytest

from tests.published import FORMS, form_of, keys_now, published_form, published_keys


@pytest.mark.parametrize("name", FORMS)
def test_the_form_of_a_file_is_the_published_one(name: str) -> None:
    """A change takes another ``schema``, and `python -m tests.published` for the release that has it."""
    assert form_of(name) == published_form(name)


def test_no_published_key_is_gone() -> None:
    """There may be more; what a document quotes can be quoted for good."""
    assert not published_keys() - keys_now()
