"""Fewer bytes, the same document: what a parser reads does not change."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from verify.report.compact import compact


class Seen(HTMLParser):
    """Notes every tag with its attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[object] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += re.sub(r"\s+", "", data)


def test_a_page_reads_the_same(page: str) -> None:
    """Of the whole made-up report: the same tags with the same values, the same text."""
    before, after = Seen(page), Seen(compact(page))
    assert after.tags == before.tags
    assert after.text == before.text


def test_quotes_and_end_tags_go_where_they_can() -> None:
    """Values with spaces, signs or a slash at their end keep their quotes; an element closes as it did."""
    table = (
        '<table class="a"><tbody><tr id="b"><td x="1 2">1</td>\n<td href="/a/">2</td></tr></tbody></table>'
    )
    assert compact(table) == ('<table class=a><tbody><tr id=b><td x="1 2">1<td href="/a/">2</tbody></table>')
    assert compact('<ul><li>a</li></ul><p class="x">b</p>') == "<ul><li>a</ul><p class=x>b</p>"
    assert compact('<use x="1" href="#F1"/>') == "<use x=1 href=#F1 />"


def test_what_is_set_as_it_is_stays() -> None:
    """Texts to copy and scripts are not looked into."""
    kept = '<pre><b class="a">x</b></pre><script type="a">if ("<a b=\\"c\\">") x</script>'
    assert compact(kept) == kept
