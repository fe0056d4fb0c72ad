"""Can the person be found in what was released, and what is left and damaged in it?"""

from deid_reidentification.audit import Reidentification
from deid_reidentification.residue import Residue

__all__ = ["Reidentification", "Residue"]
