"""When things run by themselves. Everything here is off until the user switches it on."""

import dagster as dg

deps_gated = dg.AutomationCondition.all_deps_match(
    dg.AutomationCondition.will_be_requested()
    | dg.AutomationCondition.all_checks_match(dg.AutomationCondition.check_passed(), blocking_only=True)
).with_label("deps_gated")
"""Every dependency is either about to be made in the same run, or has passed its blocking checks.

``eager()`` alone starts after a failed blocking check, and Dagster's own ``all_deps_blocking_checks_passed``
needs one tick per layer.
"""

eager_and_gated = dg.AutomationCondition.eager() & deps_gated
"""New data flows down by itself, past nothing that failed."""
