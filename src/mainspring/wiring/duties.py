"""What a process can be there for."""

from enum import StrEnum


class Duty(StrEnum):
    """Each has a command of its own; `serve` has them all."""

    API = "api"
    SCHEDULER = "scheduler"
    WORKER = "worker"
