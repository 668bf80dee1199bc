"""The public names, each with its module: what type checkers, editors and the package itself read."""

from verify.api import list_claims as list_claims
from verify.api import reproduce as reproduce
from verify.api import run as run
from verify.auditing.audit import audit as audit
from verify.auditing.comparing import compare_recordings as compare_recordings
from verify.auditing.probe import Probe as Probe
from verify.auditing.probe import parametrize_probes as parametrize_probes
from verify.auditing.probe import probe as probe
from verify.auditing.record import record as record
from verify.citing.compare import Reproduction as Reproduction
from verify.citing.values import values as values
from verify.engine.asking import Answer as Answer
from verify.engine.asking import ask as ask
from verify.errors import VerifyError as VerifyError
from verify.evidence import Check as Check
from verify.evidence import ClaimRecord as ClaimRecord
from verify.evidence import ControlRecord as ControlRecord
from verify.evidence import RunRecord as RunRecord
from verify.evidence.audits import AuditRecord as AuditRecord
from verify.evidence.comparisons import ComparisonRecord as ComparisonRecord
from verify.evidence.load import json_schema as json_schema
from verify.evidence.load import load as load
from verify.evidence.load import load_audit as load_audit
from verify.report.write import render as render
from verify.spec.claim import Claim as Claim
from verify.version import __version__ as __version__

__all__: list[str]
