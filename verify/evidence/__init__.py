"""Evidence: measured numbers come in, verdicts and ``results.json`` go out; other programs read it."""

from verify.defaults import PROFILES
from verify.evidence.claims import (
    RESERVED,
    USER,
    Assumption,
    ChainRecord,
    Check,
    ClaimRecord,
    ControlRecord,
    CoqRecord,
    DerivationRecord,
    Fact,
    LineRecord,
    OrdinaryFit,
    Reference,
    Setting,
)
from verify.evidence.judging import Outcome, Proof, Verdict
from verify.evidence.plots import Axis, Figure, PlotLayer
from verify.evidence.records import Record, digest_of
from verify.evidence.runs import (
    Calibration,
    Counted,
    FalseClaims,
    FalseKind,
    Part,
    Presentation,
    Run,
    RunRecord,
    Settings,
    SourceRecord,
    Statement,
    Tool,
)
from verify.evidence.texts import SLUG, Slug
