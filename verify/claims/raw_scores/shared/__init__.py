"""What the claims about raw scores alone measure with: any standard law."""

from verify.symbolic.scores import with_moments
