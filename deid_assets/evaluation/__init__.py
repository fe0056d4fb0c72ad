"""Every statistic of scores, intervals, agreement and ranking.

Gold; and the bake-off of detectors.
"""
