"""What a hospital already knows of its patients, kept so that the values of one patient are found
at once.
"""

from deid_assets.identities.table import IdentityTable, TableCounts, build_table

__all__ = ["IdentityTable", "TableCounts", "build_table"]
