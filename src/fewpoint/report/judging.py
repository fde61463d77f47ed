"""All that can be said about a result without the truth: its health, its frames worth a look, what to doubt."""

from dataclasses import dataclass, replace

from fewpoint.core import ImageSequence, PointSet, Result
from fewpoint.report.doubts import find_doubts
from fewpoint.report.health import Health, measure_health
from fewpoint.report.looking import look_again
from fewpoint.report.uncertainty import FrameWorth, count_suggested, rank_frames

DOUBTED = 0.9  # of the score is left if clicks may not lie on the object at all


@dataclass(frozen=True)
class Judgement:
    """What is thought of the masks of one object.

    ranking: all frames, those most worth a look first. doubts: sentences that tell a person what may be wrong.
    """

    health: Health
    ranking: tuple[FrameWorth, ...]
    doubts: tuple[str, ...] = ()

    @property
    def suggested(self) -> tuple[int, ...]:
        """The frames to look at first."""
        return tuple(entry.frame for entry in self.ranking[: count_suggested(len(self.ranking))] if entry.worth > 0)

    @property
    def worths(self) -> tuple[float, ...]:
        """Of each frame, in order."""
        return tuple(entry.worth for entry in sorted(self.ranking, key=lambda entry: entry.frame))


def judge(sequence: ImageSequence, points: PointSet, result: Result) -> Judgement:
    """Judge the masks of one object. points: the clicks on it."""
    looks = look_again(sequence, result.masks)
    health = measure_health(result, points, looks)
    doubts = find_doubts(sequence, points, result, health)
    if doubts.misplaced:
        health = replace(health, score=DOUBTED * health.score)
    return Judgement(health, rank_frames(result, looks, points), (*doubts.misplaced, *doubts.others))
