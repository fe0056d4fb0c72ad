"""Every statistic of scores, intervals, agreement and ranking; gold; and the bake-off of detectors."""
