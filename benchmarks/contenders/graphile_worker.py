"""graphile-worker on PostgreSQL and Node; what happens inside its processes is in `benchmarks/node`."""

from benchmarks import node
from benchmarks.base import Peer
from benchmarks.contender import Description, Place, Server, Traits
from benchmarks.postgres_count import count


class GraphileWorkerContender(Peer):
    description = Description(
        title="graphile-worker (PostgreSQL, Node)",
        settings=(
            "0.17.3 (0.18 needs Node 22), 24 jobs at once, local queue of 500, completions batched without delay (all "
            "from its own performance test), polling every 100 ms beside LISTEN/NOTIFY (default 2 s), added by "
            "add_jobs of 10,000, single adds through a pool of 10 connections, moments in whole milliseconds"
        ),
        keeps="jobs until they ended; no history, no results",
        loses="nothing; what a dead worker held comes back after four hours",
    )
    traits = Traits(
        server=Server.POSTGRESQL,
        program=("node", str(node.FOLDER / "graphile_worker.cjs"), str(node.modules())),
    )

    def unavailable(self) -> str:
        return node.install()

    def waiting(self, place: Place) -> int:
        return count(place.url, "select count(*) from graphile_worker._private_jobs")


CONTENDER = GraphileWorkerContender
