"""What a node of a test cluster is told: its configuration, and the flags that Java 17 needs for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

DEFAULTS: Mapping[str, str] = {
    "cluster_name": "mainspring",
    "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
    "num_tokens": "1",
    "auto_bootstrap": "false",
    "endpoint_snitch": "SimpleSnitch",
    "commitlog_sync": "periodic",
    "commitlog_sync_period": "1000ms",
    "commitlog_segment_size": "16MiB",
    "commitlog_total_space": "256MiB",
    "memtable_heap_space": "128MiB",
    "memtable_offheap_space": "64MiB",
    "file_cache_enabled": "true",
    "file_cache_size": "64MiB",
    "networking_cache_size": "32MiB",
    "key_cache_size": "8MiB",
    "key_cache_save_period": "0s",
    "row_cache_size": "0MiB",
    "counter_cache_size": "0MiB",
    "counter_cache_save_period": "0s",
    "concurrent_reads": "16",
    "concurrent_writes": "16",
    "concurrent_compactors": "1",
    "disk_optimization_strategy": "ssd",
    "disk_access_mode": "mmap_index_only",
    "auto_snapshot": "false",
    "paxos_variant": "v2",
    "paxos_state_purging": "gc_grace",
    "storage_compatibility_mode": "NONE",
}
"""Small, so that several fit on one machine; evenly spread tokens, so that nobody has to bootstrap."""

_EXPORTS = (
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport.tcp",
    "java.sql/java.sql",
    "jdk.attach/sun.tools.attach",
)
_OPENS = (
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.compiler/com.sun.tools.javac",
    "jdk.management/com.sun.management.internal",
)
_COMPILED_ONCE = ("-XX:TieredStopAtLevel=1",)
"""In its first minutes a node spends more time on making its code faster than is gained by that."""
_LOG = """<configuration>
  <appender name="output" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="output"/></root>
</configuration>
"""


def write_configuration(data: Path, settings: Mapping[str, str], seeds: Sequence[str]) -> None:
    """Put what a node reads at its start beside its data."""
    lines = [f"{name}: {value}" for name, value in settings.items()]
    lines += [
        "seed_provider:",
        "  - class_name: org.apache.cassandra.locator.SimpleSeedProvider",
        f'    parameters: [{{seeds: "{",".join(seeds)}"}}]',
        f"data_file_directories: [{data}/data]",
    ]
    folders = ("commitlog", "hints", "saved_caches", "cdc_raw")
    lines += [f"{folder}_directory: {data}/{folder}" for folder in folders]
    (data / "cassandra.yaml").write_text("\n".join(lines) + "\n")
    (data / "logback.xml").write_text(_LOG)


def java_command(java: Path, jars: Path, data: Path, heap: str, *, short_lived: bool) -> list[str]:
    """The program of a node whose configuration lies beside its *data*."""
    properties = {
        "cassandra.config": f"file://{data}/cassandra.yaml",
        "logback.configurationFile": str(data / "logback.xml"),
        "cassandra.storagedir": str(data),
        "cassandra.logdir": str(data),
        "cassandra-foreground": "yes",
        "cassandra.skip_wait_for_gossip_to_settle": "0",
        "cassandra.ring_delay_ms": "1000",
        "cassandra.superuser_setup_delay_ms": "0",
        "java.net.preferIPv4Stack": "true",
        "jdk.attach.allowAttachSelf": "true",
    }
    (agent,) = jars.glob("jamm-*.jar")
    return [
        str(java),
        # As root all of the first heap is pinned in memory at once.
        "-Xms256m",
        f"-Xmx{heap}",
        "-Xss384k",
        "-XX:+UseSerialGC",
        "-XX:MaxDirectMemorySize=256m",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        *(_COMPILED_ONCE if short_lived else ()),
        *(option for package in _EXPORTS for option in ("--add-exports", f"{package}=ALL-UNNAMED")),
        *(option for package in _OPENS for option in ("--add-opens", f"{package}=ALL-UNNAMED")),
        f"-javaagent:{agent}",
        *(f"-D{name}={value}" for name, value in properties.items()),
        "-cp",
        f"{jars}/*",
        "org.apache.cassandra.service.CassandraDaemon",
    ]
