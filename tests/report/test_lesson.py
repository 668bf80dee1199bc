"""The lesson: its draws, run by a JavaScript engine, against the package's arrays and the run; its words."""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from py_mini_racer import MiniRacer
from scipy import stats

from tests.report.golden import Spelled
from tests.report.builders import turned
from tests.report.records import record
from verify.evidence import Verdict
from verify.files import shipped_folder
from verify.spec.arrays import gradients, softmax
from verify.report.html import measured_points
from verify.report.run import Report


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    """Yield a function that evaluates an expression beside the draws that the page shows."""
    engine = MiniRacer()
    engine.eval((shipped_folder("templates") / "draws.js").read_text(encoding="utf-8"))
    seed = re.search(r"SEED = (\d+)", (shipped_folder("templates") / "lesson.js").read_text(encoding="utf-8"))
    assert seed
    made = (f"{name} = draws.{name}({seed[1]} + {place})" for place, name in enumerate(("pairs", "rows")))
    engine.eval(f"const {', '.join(made)}, others = draws.rows({seed[1]} + 2);")
    yield lambda expression: json.loads(str(engine.eval(f"JSON.stringify({expression})")))
    engine.close()


# The draws.


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0, 1000.0])
def test_softmax_and_entropy(script: Any, size: float) -> None:
    """The weights and their entropy agree with the arrays', also for scores far out."""
    scores = np.random.default_rng(1).normal(size=20)
    weights = softmax(size * scores)
    made = f"Array.from(draws.softmax({scores.tolist()}, {size}, 20))"
    assert script(made) == pytest.approx(weights.tolist(), rel=1e-12)
    assert script(f"draws.entropy({made})") == pytest.approx(stats.entropy(weights), rel=1e-12)
    assert script(f"draws.squares({made})") == pytest.approx(weights @ weights, rel=1e-12)


def test_the_size_of_a_gradient(script: Any) -> None:
    """It is that of the arrays' dQ, for keys whose parts across the query are at right angles."""
    rng = np.random.default_rng(2)
    places, values, upstream = rng.normal(size=5), rng.normal(size=(5, 3)), rng.normal(size=(1, 3))
    query, keys = np.zeros((1, 6)), np.hstack([places[:, None], 1.7 * np.eye(5)])
    query[0, 0] = 2.5
    weights = softmax(0.4 * query @ keys.T)
    expected = gradients(query, keys, values, weights, upstream, 0.4)
    row = {
        "length": {6: 2.5},
        "across": {6: 1.7**2},
        "places": places.tolist(),
        "upstream": (upstream @ values.T)[0].tolist(),
    }
    size = script(f"draws.gradient({json.dumps(row)}, 6, 5, 0.4)")
    assert size == pytest.approx(np.linalg.norm(expected.queries), rel=1e-12)


def test_what_is_drawn_agrees_with_what_the_run_measured(script: Any, whole: Report) -> None:
    """At every dimension that both show: variances, concentrations, medians and root mean squares."""
    points = json.loads(measured_points(whole))
    stops = script("draws.STOPS")
    drawn = {
        "variance": "pairs.variance[{d}]",
        **{f"raw-n{n}": f"draws.concentration(rows, {{d}}, {n}, 1)" for n in (16, 256)},
        **{f"scaled-n{n}": f"draws.concentration(rows, {{d}}, {n}, 1 / Math.sqrt({{d}}))" for n in (16, 256)},
        **{
            key: f"draws.gradients(others, {{d}}, 16, 1).{key} / "
            f"draws.gradients(others, {{d}}, 16, 1 / Math.sqrt({{d}})).{key}"
            for key in ("median", "rms")
        },
    }
    assert points.keys() == drawn.keys()
    for series, rows in points.items():
        shared = [row for row in rows if row[0] in stops]
        assert shared
        for d, value, low, high, _, _ in shared:
            assert low <= value <= high
            far = 0.35 if series == "median" and d > 64 else 0.1
            assert script(drawn[series].format(d=d)) == pytest.approx(value, rel=far, abs=0.005), (series, d)


# What the page says.


def page(report: Report) -> str:
    """Return the lesson of a report as HTML."""
    return Spelled().render("lesson.j2", report, measured=measured_points(report))


def test_every_number_is_the_runs_and_leads_to_its_check(whole: Report) -> None:
    """In prose and pictures; a run without these claims has no scene, and no record can end the script."""
    words = page(whole)
    assert "<" not in measured_points(whole)
    assert Report(record()).lesson == ()
    assert [scene.name for scene in whole.lesson] == ["variance", "softmax", "gradient"]
    for scene in whole.lesson:
        for key, printed in scene.numbers.items():
            assert f'<a href="#{key}">{printed}</a>' in words
            assert key in whole.anchors
        for _, value, low, high, printed, key in (row for rows in scene.points.values() for row in rows):
            check = whole.record.claim(scene.claim).check(key.partition(".")[2])
            assert (value, low, high) == pytest.approx((check.estimate, *check.interval), rel=1e-4)
            assert float(printed) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize("change", ["refuted", "fewer checks", "no figure", "no claim"])
def test_a_scene_stands_on_what_the_run_confirmed(whole: Report, change: str) -> None:
    """Without its claim, its figure or a number that it names there is none, and the others stay."""
    run = whole.record
    claim = run.claim("vanishing-or-exploding")
    changed = {
        "refuted": [
            claim.model_copy(update={"checks": tuple(turned(each, Verdict.REFUTED) for each in claim.checks)})
        ],
        "fewer checks": [claim.model_copy(update={"checks": claim.checks[1:], "headline": ""})],
        "no figure": [claim.model_copy(update={"series": ()})],
        "no claim": [],
    }[change]
    others = [other for other in run.claims if other.id != claim.id]
    report = Report(run.model_copy(update={"claims": (*others, *changed)}))
    assert [scene.name for scene in report.lesson] == ["variance", "softmax"]
    assert "vanish" not in page(report).partition("<script")[0]
