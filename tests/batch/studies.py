"""A small study on disk: phantoms, a manifest, and settings that are over in a second."""

import csv
from dataclasses import dataclass, replace
from pathlib import Path

from fewpoint.batch.checks import Checked, Defaults, check_rows, read_checks
from fewpoint.batch.folder import BatchFolder
from fewpoint.batch.manifest import read_rows
from fewpoint.core.job import Job
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.jobs import read_changes
from synthetic import save_phantom, save_settings
from tiny_runs import TINY


@dataclass(frozen=True)
class Study:
    """A folder with phantoms p0, p1, … and study.csv."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, count: int, settings=TINY) -> "Study":
        for seed in range(count):
            save_phantom(make_phantom(n_frames=5, size=(40, 32), seed=seed), folder / f"p{seed}")
        save_settings(settings, folder / "tiny.toml")
        study = cls(folder)
        study.write(*(f"case{seed},p{seed}/frames,p{seed}/points.csv,0.3" for seed in range(count)))
        return study

    def write(self, *rows: str, header: str = "name,input,points,max_fraction") -> Path:
        self.manifest.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return self.manifest

    @property
    def manifest(self) -> Path:
        return self.folder / "study.csv"

    @property
    def defaults(self) -> Defaults:
        return Defaults(Job(preset="fast", device="cpu", changes=read_changes(self.folder / "tiny.toml")))

    @property
    def out(self) -> BatchFolder:
        return BatchFolder(self.folder / "out")

    def check(self, warm_start: Path | None = None) -> Checked:
        start = None if warm_start is None else str(warm_start)
        defaults = replace(self.defaults, job=replace(self.defaults.job, warm_start=start))
        return check_rows(read_rows(self.manifest), defaults, read_checks(self.out.checks), lambda *done: None)

    def read_summary(self) -> dict[str, dict[str, str]]:
        with open(self.out.summary, newline="", encoding="utf-8") as stream:
            return {row["name"]: row for row in csv.DictReader(stream)}
