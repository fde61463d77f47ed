"""Options of the commands that run many jobs."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fewpoint.engines.jobs import Engine


class EngineName(StrEnum):
    LOCAL = "local"
    RAY = "ray"


EngineChoice = Annotated[
    EngineName, typer.Option("--engine", help="Processes of this machine, or a Ray cluster; ray needs fewpoint[ray].")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="Address of the Ray cluster; by default RAY_ADDRESS, or a new one on this machine.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        min=1,
        help="Most jobs to run at once, each a process; by default one, as many as the GPUs hold or as Ray places.",
    ),
]
GpusPerJob = Annotated[
    float,
    typer.Option(
        "--gpus-per-job",
        metavar="F",
        min=0,
        max=1,
        help="Share of a GPU that a job takes; it then sees that GPU alone.",
    ),
]
CpusPerJob = Annotated[
    float, typer.Option("--cpus-per-job", metavar="N", min=0, help="CPU cores that Ray reserves for a job.")
]
MemoryPerJob = Annotated[
    float, typer.Option("--memory-per-job", metavar="GIB", min=0, help="Memory that Ray reserves for a job.")
]


@dataclass(frozen=True)
class EngineOptions:
    """Where jobs run, and what each takes."""

    engine: EngineChoice = EngineName.LOCAL
    address: Address = None
    jobs: Jobs = None
    gpus_per_job: GpusPerJob = 0.0
    cpus_per_job: CpusPerJob = 1.0
    memory_per_job: MemoryPerJob = 0.0

    def build(self) -> "Engine":
        needs = (self.gpus_per_job, self.cpus_per_job, self.memory_per_job)
        return build_engine(self.engine, self.address, self.jobs, *needs)


def build_engine(
    name: EngineName,
    address: str | None = None,
    jobs: int | None = None,
    gpus_per_job: float = 0.0,
    cpus_per_job: float = 1.0,
    memory_per_job: float = 0.0,
) -> "Engine":
    """The engine that the options ask for."""
    if name == EngineName.LOCAL:
        if address is not None:
            raise typer.BadParameter("--address is for a Ray cluster; give --engine ray too")
        from fewpoint.engines.processes import LocalEngine

        return LocalEngine(jobs, gpus_per_job)
    from fewpoint.engines.cluster import Needs, RayEngine

    return RayEngine(address, jobs, Needs(cpus_per_job, gpus_per_job, memory_per_job))
