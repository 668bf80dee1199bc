"""JSON-LD of the page: an article with its software and its data, which no text can break out of."""

from __future__ import annotations

import dataclasses
import json

from tests.report.records import record
from verify.evidence.provenance import digest
from verify.report.linked import linked_data
from verify.report.view import view


def test_the_article_names_its_software_and_its_data() -> None:
    """Each once, with the digest of the evidence and the file that holds it."""
    run = record()
    graph = json.loads(linked_data(view(run)))
    assert graph["@context"] == "https://schema.org"
    kinds = {one["@type"]: one for one in graph["@graph"]}
    assert list(kinds) == ["ScholarlyArticle", "SoftwareApplication", "Dataset"]
    article, software, dataset = kinds.values()
    assert {one["@id"] for one in article["isBasedOn"]} == {software["@id"], dataset["@id"]}
    assert software["softwareVersion"] == run.tool.version
    assert dataset["distribution"]["contentUrl"] == "results.json"
    assert dataset["identifier"] == article["identifier"] == f"sha256:{digest(run)}"
    assert article["datePublished"] == "2026-11-20T23:30:00Z"


def test_no_tag_can_begin_in_it() -> None:
    """Not even where a text of the record says so."""
    evil = "</script><script>alert(1)"
    text = linked_data(dataclasses.replace(view(record()), version=evil))
    assert "<" not in text
    assert json.loads(text)["@graph"][1]["softwareVersion"] == evil
