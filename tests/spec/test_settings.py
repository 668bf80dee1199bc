"""The settings of cells: had by their names, and as places where they are numbers."""

from __future__ import annotations

import pytest

from verify.errors import ClaimError
from verify.spec.cells import named_by, place_of, setting_of

SETTINGS: dict[str, float | str] = {"d_k": 64, "T": 0.5, "law": "normal", "share": "1/3"}


def test_a_setting_is_what_the_cell_says() -> None:
    """A number or a word, as it is; as a place a number is a float."""
    for name, value in SETTINGS.items():
        assert setting_of("c", SETTINGS, name) is value
    assert [place_of("c", SETTINGS, name) for name in ("d_k", "T")] == [64.0, 0.5]
    assert isinstance(place_of("c", SETTINGS, "d_k"), float)


@pytest.mark.parametrize("read", [setting_of, place_of])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dk", "check c has no setting 'dk'; did you mean 'd_k'?"),
        ("heads", "check c has no setting 'heads'; its settings are d_k, T, law, share"),
    ],
)
def test_a_setting_that_is_not_there_is_refused_with_those_that_are(
    read: object, name: str, message: str
) -> None:
    """Or with the nearest of them."""
    assert callable(read)
    with pytest.raises(ClaimError) as caught:
        read("c", SETTINGS, name)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["law", "share"])
def test_a_word_is_no_place(name: str) -> None:
    """Nothing is drawn against it."""
    with pytest.raises(ClaimError) as caught:
        place_of("c", SETTINGS, name)
    assert str(caught.value) == (
        f"check c: its setting {name!r} is {SETTINGS[name]!r}; take one that is a number"
    )


def test_an_id_has_settings_in_the_place_of_their_names() -> None:
    """In the format that the braces ask for; {cell} is the cell's own id."""
    assert named_by("bound-{cell}-d{d_k}-t{T:g}", "raw", SETTINGS) == "bound-raw-d64-t0.5"
    assert named_by("plain", "raw", SETTINGS) == "plain"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("x-{dk}", "id 'x-{dk}': cell raw has no setting 'dk'; did you mean 'd_k'?"),
        ("x-{heads}", "id 'x-{heads}': cell raw has no setting 'heads'; its settings are d_k, T, law, share"),
        ("x-{", "id 'x-{': write settings of the cell as {name}"),
        ("x-{}", "id 'x-{}': write settings of the cell as {name}"),
        ("x-{law:d}", "id 'x-{law:d}': write settings of the cell as {name}"),
    ],
)
def test_an_id_that_names_no_setting_is_refused(template: str, message: str) -> None:
    """In one line."""
    with pytest.raises(ClaimError) as caught:
        named_by(template, "raw", SETTINGS)
    assert str(caught.value) == message
