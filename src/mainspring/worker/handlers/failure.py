"""How built-in handlers say that an attempt failed."""


class Failure(Exception):
    """An ordinary failure, tried again by the job's policy. Its text is complete: no type or trace adds to it."""
