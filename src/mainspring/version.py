"""The version of this Mainspring, where everything can read it without importing anything else."""

__version__ = "0.1.0"
