"""A real Ray cluster on this machine, small enough for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

STORE_BYTES = 80 * 2**20


@contextmanager
def start_cluster(nodes: int = 3, cpus: int = 1) -> Iterator[Any]:
    """So many nodes of one core each, or of none; the first stays, for it holds what Ray knows."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'fewpoint[ray]'")
    from ray.cluster_utils import Cluster

    sizes = {"num_cpus": cpus, "object_store_memory": STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args={**sizes, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(**sizes)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        cluster.shutdown()
