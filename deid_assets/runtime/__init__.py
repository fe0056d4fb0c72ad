"""An installation as a process runs it: its snapshot, opened stores and keys, detectors in worker
processes.
"""
