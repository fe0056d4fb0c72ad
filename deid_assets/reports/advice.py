"""What to do first with notes of one's own, in the words of every place that says it."""

CURVE = "deid train own --curve --train annotated.jsonl --out curve"
"""What five, ten or twenty annotated notes add to `rules`, measured on the others."""
NEXT = "deid next model --notes raw.jsonl --out next"
"""Which notes to annotate then."""
FIRST = (
    f"Annotate ten notes and see what they add: `{CURVE}`; then `{NEXT}` says which to annotate."
)
"""For descriptions, in Markdown."""
