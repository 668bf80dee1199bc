"""A drawing becomes shorter without changing what is drawn."""

from verify.report.tidy import tidy


def tidied(inner: str) -> str:
    """Return what becomes of a drawing."""
    return tidy(f'<?xml?><svg viewBox="0 0 1 1">{inner}</svg>', "x.", ink="#010203", family="Some Face")


def test_factors_and_definitions_are_kept() -> None:
    """Rounding spares factors and text; a path to be used elsewhere may look idle where it is defined."""
    idle = '<path d="M0 0" style="fill: none"/>'
    text = (
        '<text style="opacity: 0.1234" transform="translate(1.23456 -0.001) scale(0.00125 -0.00125)">'
        'x="0.12345"</text>'
    )
    done = tidied(f"<defs>{idle}</defs>{idle}{text}")
    assert done.count(idle) == 1
    assert 'style="opacity: 0.1234" transform="translate(1.23 0) scale(0.00125 -0.00125)"' in done
    assert 'x="0.12345"</text>' in done


def test_letters_become_words() -> None:
    """Letters of one line and style share an element, each in its place."""
    letters = [
        ("0.125", "-1", "a", "d"),
        ("5.5", "-1", "a", "i"),
        ("9", "-1", "b", "m"),
        ("12", "2", "b", "&lt;"),
    ]
    done = tidied("\n".join(
        f'<tspan x="{x}" y="{y}" style="{style}">{text}</tspan>' for x, y, style, text in letters
    ))  # fmt: skip
    assert '<tspan x="0.12 5.5" y="-1" style="a">di</tspan><tspan x="9" y="-1" style="b">m</tspan>' in done
    assert done.count("<tspan") == 3


def test_ids_and_colours_are_the_pages() -> None:
    """Only ids that are used stay, with their prefix; ink follows the text; the family stands at the root."""
    done = tidied('<g id="idle"><path id="dot" style="font-family: \'Some Face\'; fill: #010203"/></g>'
                  '<use href="#dot"/>')  # fmt: skip
    assert 'id="x.dot"' in done
    assert 'href="#x.dot"' in done
    assert "idle" not in done
    assert 'style="fill: currentColor"' in done
    assert done.count("Some Face") == 1
