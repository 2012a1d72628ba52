"""The paper's theorems and remarks on problems whose constants are known.

Every check runs the library's own rules and engine, compares what it measured with what the claim
promises, and can fail. Where a statement is misprinted, the corrected one is checked, and the
printed one has a row of its own.
"""

from fedmgda.paper.theory._check import BoundCurve, Check
from fedmgda.paper.theory._checks import theory_checks
from fedmgda.paper.theory._write import write_theory

__all__ = ["BoundCurve", "Check", "theory_checks", "write_theory"]
