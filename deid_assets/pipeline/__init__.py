"""The pipeline: the steps that de-identify a batch of notes, the same for every interface.

::

    detect ─► resolve ─► spread ─► redact ─► search ─► verify ─► redacted text with its edits,
                                                                 or withheld by a step, with why

===============  ========================================================================
``composition``  the list of steps: ``Pipeline``, which one can print and edit
``batch``        what goes from step to step: ``Batch``
``resolving``    detect, resolve: the ensemble's predictions become disjoint spans
``spreading``    spread: what is known of a patient, and covers it in all notes of the patient
``redacting``    redact, verify: spans are replaced as a policy says, and no known value is left
``searching``    search: what the ensemble still finds in redacted text is redacted too, and what a
                 draw says of the notes that were not searched
===============  ========================================================================

The graph's assets, the ``deid`` command, ``deid_assets.deidentify`` and worker processes run these
steps or some of them; they add reading, writing and receipts. A batch holds all notes of each of
its patients. Stored spans enter after *spread*, so that a change of policy runs no detector but the
one of *search*.
"""
