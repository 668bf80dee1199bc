"""Values as tables within tables."""

from __future__ import annotations

from tests.report.records import record
from verify.citing.exports import leaves, name, tree
from verify.citing.lookup import by_key
from verify.citing.values import values_of as values

RUN = record()


def test_the_words_of_a_key_lead_to_its_value() -> None:
    """With underscores, which every language takes in a name."""
    made = tree(RUN, values(RUN))
    known = by_key(RUN)
    slope = made["texts"]["score_variance"]["slope"]
    assert slope["text"] == known["score-variance.slope"].text
    assert slope["estimate"] == known["score-variance.slope:estimate"].text
    assert made["numbers"]["score_variance"]["slope"]["estimate"] == float(slope["estimate"])
    assert made["about"]["seed"] == RUN.run.settings.seed
    assert all(word.isidentifier() for path, _ in leaves(made) for word in path)
    assert name("1st-of-all") == "n1st_of_all"
