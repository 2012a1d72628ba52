"""The min-norm point of a convex hull, from the Gram matrix or the rows, with a certificate.

>>> import numpy as np
>>> from fedmgda.minnorm import gramian, min_norm
>>> updates = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]], dtype=np.float32)
>>> solution = min_norm(gramian(updates))
>>> (solution.lam @ updates).tolist()
[0.5, 0.5]
>>> solution.gap <= 1e-12, solution.proves_common_descent
(True, True)
"""

from fedmgda.minnorm._blocks import float64_blocks
from fedmgda.minnorm._certificate import duality_gap, duality_gap_of_rows, slope_gap
from fedmgda.minnorm._cone import nearest_in_cone
from fedmgda.minnorm._cone_certificate import ConeCertificate, cone_certificate
from fedmgda.minnorm._cone_problem import ConeSolution
from fedmgda.minnorm._constrained import min_norm_constrained
from fedmgda.minnorm._gramian import Products, gramian, normalized_gramian
from fedmgda.minnorm._projection import project_onto_box, project_onto_simplex
from fedmgda.minnorm._solution import MinNormSolution, Status
from fedmgda.minnorm._solve import min_norm
from fedmgda.minnorm._solve_rows import min_norm_of_rows, prefers_rows
from fedmgda.minnorm._sums import euclidean_norm, inner_products, row_norms, weighted_sum

__all__ = [
    "ConeCertificate",
    "ConeSolution",
    "MinNormSolution",
    "Products",
    "Status",
    "cone_certificate",
    "duality_gap",
    "duality_gap_of_rows",
    "euclidean_norm",
    "float64_blocks",
    "gramian",
    "inner_products",
    "min_norm",
    "min_norm_constrained",
    "min_norm_of_rows",
    "nearest_in_cone",
    "normalized_gramian",
    "prefers_rows",
    "project_onto_box",
    "project_onto_simplex",
    "row_norms",
    "slope_gap",
    "weighted_sum",
]
