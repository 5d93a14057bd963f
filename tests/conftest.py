from hypothesis import settings

# A shared machine may stall any example; slowness is judged by benchmarks, not by properties.
settings.register_profile("mainspring", deadline=None, print_blob=True)
settings.load_profile("mainspring")
