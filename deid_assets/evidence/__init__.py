"""The evidence file of a release: one document for an expert determination or an assessment under
the GDPR, each sentence of which names the signed receipt that it follows from.
"""
