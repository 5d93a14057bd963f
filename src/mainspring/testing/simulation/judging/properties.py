"""The properties by number, as the design names them; those that a store alone can hold are tested elsewhere."""

PROPERTIES = {
    "P1": "an accepted job is never lost",
    "P2": "every moment of a job gets one verdict: a run or a skip, never both, never none",
    "P3": "at most one accepted result per hand-over and per run",
    "P4": "a stale fence is never accepted, and nobody is robbed of what he holds",
    "P5": "fences of runs and locks grow with every hand-over, and each hand-over begins at most once",
    "P6": "what has ended stays ended",
    "P7": "nothing is fired or handed over early, by the store's clock",
    "P8": "nothing fires while its job is paused or deleted, nothing held is handed over",
    "P9": "a cancel wins or loses cleanly",
    "P10": "attempts stay within their budgets",
    "P11": "dead letters are complete and exact",
    "P12": "an idempotency key stands for one job",
    "P13": "overlap policies hold, and a lock has one holder",
    "P14": "what came while a scheduler watched isn't missed, and what was missed goes by its policy",
    "journal": "a worker notes what it does before it does it, and settles what it had finished before it works again",
    "neighbours": "what a killed worker had finished is settled, as long as another works on its machine",
    "tickets": "a run has one ticket per fence, claims leave it its grace, and no message goes before its answer",
    "figures": "totals equal the rows",
    "liveness": "after healing, everything that is due gets done",
    "defect": "nobody fails in a way that it doesn't expect",
}
