"""The records of a run and their JSON form, ``results.json``; other people's programs read it."""

from verify.defaults import PROFILES
from verify.evidence.claims import (
    RESERVED,
    Assumption,
    Check,
    ClaimRecord,
    ControlRecord,
    DerivationRecord,
    Fact,
    Method,
    OrdinaryFit,
    Proof,
    Reach,
    Reference,
    RouteRecord,
    Setting,
    StepRecord,
    Verdict,
    tightness,
)
from verify.evidence.plots import Axis, Figure, PlotLayer
from verify.evidence.records import Record, digest_of
from verify.evidence.runs import (
    Budget,
    Calibration,
    Counted,
    DeviceRecord,
    FalseClaims,
    FalseKind,
    Falsified,
    Outcome,
    Part,
    Presentation,
    Run,
    RunRecord,
    Settings,
    SourceRecord,
    Statement,
    StoreUse,
    Tool,
)
from verify.evidence.texts import SLUG, Slug, in_utc

__all__ = [
    "PROFILES", "RESERVED", "SLUG", "Assumption", "Axis", "Budget", "Calibration", "Check", "ClaimRecord",
    "ControlRecord", "Counted", "DerivationRecord", "DeviceRecord", "Fact", "FalseClaims", "FalseKind",
    "Falsified", "Figure", "Method", "OrdinaryFit", "Outcome", "Part", "PlotLayer", "Presentation", "Proof",
    "Reach", "Record", "Reference", "RouteRecord", "Run", "RunRecord", "Setting", "Settings", "Slug",
    "SourceRecord", "Statement", "StepRecord", "StoreUse", "Tool", "Verdict", "digest_of", "in_utc",
    "tightness",
]  # fmt: skip
