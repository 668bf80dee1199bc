"""The records of a run and their JSON form, ``results.json``; other people's programs read it."""

from verify.evidence.calibration import Calibration, Counted
from verify.evidence.claims import (
    RESERVED,
    Assumption,
    ClaimRecord,
    DerivationRecord,
    Proof,
    Reach,
    Reference,
    Route,
    Step,
    digest_of,
)
from verify.evidence.false_claims import FalseClaims, FalseKind, Falsified
from verify.evidence.figures import Axis, Figure, Layer
from verify.evidence.findings import (
    Check,
    Control,
    Fact,
    Method,
    OrdinaryFit,
    Setting,
    Verdict,
    tightness,
)
from verify.evidence.records import Record
from verify.evidence.runs import PROFILES, Budget, Device, Run, RunRecord, Settings, Stored, Tool
from verify.evidence.statements import Outcome, Part, Source, Statement
from verify.evidence.texts import SLUG, Slug, in_utc

__all__ = [
    "PROFILES",
    "RESERVED",
    "SLUG",
    "Assumption",
    "Axis",
    "Budget",
    "Calibration",
    "Check",
    "ClaimRecord",
    "Control",
    "Counted",
    "DerivationRecord",
    "Device",
    "Fact",
    "FalseClaims",
    "FalseKind",
    "Falsified",
    "Figure",
    "Layer",
    "Method",
    "OrdinaryFit",
    "Outcome",
    "Part",
    "Proof",
    "Reach",
    "Record",
    "Reference",
    "Route",
    "Run",
    "RunRecord",
    "Setting",
    "Settings",
    "Slug",
    "Source",
    "Statement",
    "Step",
    "Stored",
    "Tool",
    "Verdict",
    "digest_of",
    "in_utc",
    "tightness",
]
