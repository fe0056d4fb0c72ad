"""The pipeline: detect, resolve, spread, redact and verify a batch of notes, the same for every interface.

::

    detect ─► resolve ─► spread ─► redact ─► verify ─► redacted text with its edits,
                                                       or withheld with stage and reason

==============  ====================================================================
``batch``       all of it over one batch of notes: ``Pipeline``
``resolving``   predictions of the ensemble become spans that do not overlap
``spreading``   what is found once is covered in all notes of the patient
``redacting``   spans are replaced as a policy says
``surviving``   verify: is a known value left?
``searching``   verify: does the ensemble find something in the redacted text?
``values``      what is known of a patient, and where it is readable
==============  ====================================================================

The graph's assets, the ``deid`` command, ``deid_assets.deidentify`` and worker processes call
these; they add reading, writing and receipts. A batch holds all notes of each of its patients.
Stored spans enter after *spread*, so that a change of policy runs no detector but the one search of
*verify*.
"""
