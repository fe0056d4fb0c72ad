"""Annotators compared, adjudicated and corrected."""
