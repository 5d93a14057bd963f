"""How often a process looks for what nobody refers to any more."""

import gc


def collect_seldom() -> None:
    """What was made so far stays, and a batch makes many objects without a cycle: looking through them is wasted."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
