"""What a hospital already knows of its patients."""

from deid_assets.formats.identities import Identity
from deid_assets.identities import IdentityTable

__all__ = ["Identity", "IdentityTable"]
