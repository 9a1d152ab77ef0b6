"""`make dist`: builds what a release publishes, for every target of `targets.py`."""
