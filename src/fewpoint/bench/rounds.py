"""What is kept of a person's effort, round by round, and the table of all rounds."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

from fewpoint.bench.person import Said
from fewpoint.io.atomic import write_text


@dataclass(frozen=True)
class Scores:
    """How good masks are, over all pixels, and how good they could be.

    area: pixels masked / pixels true. best_threshold_f1, true_sizes_f1: of the same probabilities, cut with the truth's
    help, see evaluation.thresholds.
    """

    f1: float
    precision: float
    recall: float
    area: float
    best_threshold_f1: float
    true_sizes_f1: float


@dataclass(frozen=True)
class Round:
    """Masks after a round of words; round 0 is the run that the words correct.

    said: in this round. words: how many so far, the points at the start not counted. run: the round whose run the
    masks are of, an earlier one if there was nothing to say. seconds: of the run or its refinement alone, None if there
    was none.
    suggested: the frame that the program called most worth a look before the round, of those that nobody had corrected
    yet, None if all are. suggested_worst: whether it was among the fifth of the frames with the most wrong pixels.
    """

    number: int
    said: Said
    words: int
    run: int
    scores: Scores
    seconds: float | None
    suggested: int | None = None
    suggested_worst: bool | None = None

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "Round":
        """What asdict made plain values of."""
        return cls(**{**table, "said": Said.from_table(table["said"]), "scores": Scores(**table["scores"])})


@dataclass(frozen=True)
class EffortRow:
    """A cell of a person's effort with what came of it; one that failed has an error and no rounds."""

    method: str
    type: str
    sequence: str
    seed: int
    variant: str
    points: str
    bound: str
    words: str
    look: str
    rounds: tuple[Round, ...] = ()
    settings_hash: str = ""
    key: str = ""
    error: str = ""

    @property
    def way(self) -> tuple[str, ...]:
        """Method, variant, bound, points, words and look: what is compared."""
        return self.method, self.variant, self.bound, self.points, self.words, self.look

    @property
    def place(self) -> str:
        """Type and sequence."""
        return f"{self.type}/{self.sequence}"


IDENTITY_COLUMNS = ("settings_hash", "key", "error")
CELL_COLUMNS = ("method", "type", "sequence", "seed", "variant", "points", "bound", "words", "look")
SAID_COLUMNS = ("clicks", "negatives", "outlined", "size")
SCORE_COLUMNS = tuple(entry.name for entry in fields(Scores))
COST_COLUMNS = ("seconds", "suggested", "suggested_worst")


def write_rounds(rows: Iterable[EffortRow], path: Path) -> None:
    """Write a CSV, one row per round of each cell, and one for each cell that failed."""
    stream = StringIO()
    columns = [*CELL_COLUMNS, "round", "said", *SAID_COLUMNS, *SCORE_COLUMNS, *COST_COLUMNS, *IDENTITY_COLUMNS]
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cell = {name: getattr(row, name) for name in (*CELL_COLUMNS, *IDENTITY_COLUMNS)}
        writer.writerows({**cell, **_spell_out(each)} for each in row.rounds)
        if row.error:
            writer.writerow(cell)
    write_text(path, stream.getvalue())


def _spell_out(each: Round) -> dict[str, Any]:
    """A round's columns; places as frame-y-x, several with spaces between."""
    said = asdict(each.said)
    places = {name: " ".join("-".join(map(str, place)) for place in said[name]) for name in ("clicks", "negatives")}
    outlined = " ".join(map(str, each.said.outlined))
    costs = {name: getattr(each, name) for name in COST_COLUMNS}
    figures = {**asdict(each.scores), **costs}
    return {"round": each.number, "said": each.words, **said, **places, "outlined": outlined, **figures}
