"""Storage of results: Parquet folders with signed receipts, and a text-free SQL catalogue.

Nothing is imported here: ``frames`` and ``files`` load pyarrow, ``tables`` and ``database`` load
SQLModel.
"""
