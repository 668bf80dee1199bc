"""What the claims about the pipeline alone measure with: its array code."""

from verify.montecarlo.attention import attention
from verify.montecarlo.experiment import EXACTLY
