"""The settings of a run where none are given: for results, engine, Python and the command line alike."""

from typing import Final

PROFILES = {"quick": 0.05, "standard": 0.01, "deep": 0.002}
"""The relative tolerance that each profile stands for."""

PROFILE: Final = "standard"
SEED = 20170612
FALSE_ALARM = 1e-3
POWER = 0.95
