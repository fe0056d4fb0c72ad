"""What one request may cost, and how many there may be."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Bounds of the service.

    Args:
        bytes_: Of a body.
        notes: In a batch, and texts in a FHIR resource.
        chars: Code points of one note.
        seconds: Until a request is answered; a body that comes slowly counts.
        waiting: Requests that wait or run; another one is told to come back.
        sessions: Reversible sessions at a time.
        session_seconds: After which a session is gone, unless it asks for less.
        session_values: Different values of one session.
    """

    bytes_: int = 4 << 20
    notes: int = 200
    chars: int = 500_000
    seconds: float = 60.0
    waiting: int = 32
    sessions: int = 100
    session_seconds: float = 3600.0
    session_values: int = 20_000
