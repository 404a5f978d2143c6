"""Most of this folder runs in an environment of its own (`make conformance`), whose libraries are not here."""

collect_ignore = ["job.py", "others.py", "recipes.py"]
