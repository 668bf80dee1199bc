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
    assert 'style="opacity: 0.1234" transform="translate(1.2 0) scale(0.00125 -0.00125)"' in done
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
    assert '<tspan x="0.1 5.5" y="-1" style="a">di</tspan><tspan x="9" y="-1" style="b">m</tspan>' in done
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


def test_points_that_nobody_misses_go() -> None:
    """Of a polyline: what lies on the line between others; a side along an axis needs one number."""
    done = tidied('<path d="M 0 0.01 L 1.26 0.02 L 9 0.01 L 9 5.04 L 4 9" style="stroke: red"/>')
    assert 'd="M0 0H9V5L4 9"' in done


def test_ticks_and_grids_are_one_path() -> None:
    """Each at its place, in the look of what they were uses of; marks of another shape stay uses."""
    look = 'style="stroke: red"'
    done = tidied(
        f'<defs><path id="t" d="M 0 0 L 0 3.5" {look}/></defs><use xlink:href="#t" x="2" y="7" style="a"/>'
        f'<defs><path id="m" d="M 0 0 L 1 1" {look}/></defs><use xlink:href="#m" x="3" y="4" style="a"/>'
        f'<use xlink:href="#t" x="5" y="7" style="a"/><path d="M 1 1 L 4 1" style="stroke: blue"/>'
    )
    assert f'<path d="M2 7V10.5M5 7V10.5" {look}/>' in done
    assert done.count("<use ") == 1
    assert 'id="x.m"' in done
    assert 'id="x.t"' not in done
    assert '<path d="M1 1H4" style="stroke: blue"/>' in done
