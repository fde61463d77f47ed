"""Several objects learnt by one network, with a logit for each."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from fewpoint.core import AreaBound, EpochFinished, EpochRecord, Listener, StepsTaken, ignore
from fewpoint.learning.phases import Learning, Observation, Schedule, look_at, sum_up
from fewpoint.learning.prediction import predict_logits
from fewpoint.learning.targets import Targets
from fewpoint.learning.training import Trainer


@dataclass(eq=False)
class JointLearning:
    """One trainer, and for each object its own way through the phases.

    Where priors are estimated, each object ends its estimation by its own rule and goes on with its own priors; the
    weights, which belong to all, do not go back. The network learns until the last object is done.
    """

    courses: tuple[Learning, ...]

    @classmethod
    def start(cls, trainer: Trainer, bounds: tuple[AreaBound, ...], schedule: Schedule) -> "JointLearning":
        """bounds: one an object, in the order of the trainer's."""
        return cls(tuple(Learning.start(trainer, bound, schedule, number) for number, bound in enumerate(bounds)))

    @property
    def trainer(self) -> Trainer:
        return self.courses[0].trainer

    def run(self, listener: Listener, save: Callable[["JointLearning"], None]) -> None:
        """Learn to the end, telling the listener and saving after each epoch."""
        while not all(course.done for course in self.courses):
            self.run_epoch(listener)
            records = [course.progress.records[-1] for course in self.courses]
            listener(EpochFinished(mean_record(records), self.courses[0].schedule.most_epochs))
            save(self)

    def run_epoch(self, listener: Listener = ignore) -> None:
        """Train one epoch for all objects, look at the network if any of them wants to, and take the steps of each."""
        learning = [course for course in self.courses if not course.done]
        rates = [max(each) for each in zip(*(course.rates() for course in learning), strict=True)]
        epoch, most = max(course.progress.epoch for course in learning) + 1, learning[0].schedule.most_epochs

        def tell(steps: int) -> None:
            listener(StepsTaken(epoch, steps, len(rates), most))

        for course in self.courses:
            course.seen = None
        priors = np.stack([course.usable_priors() for course in self.courses], axis=1)
        means = self.trainer.run_epoch(torch.from_numpy(priors).float(), rates, tell)
        for course in learning:
            course.refuse_divergence(means.of(course.number))
        observations = self._observe(learning)
        for course, observation in zip(learning, observations, strict=True):
            course.take_in(means.of(course.number), observation)

    def predict(self) -> tuple[Tensor, ...]:
        """(T, h, w) logits of each object as the weights now stand; not predicted anew where just observed."""
        if all(course.seen is not None for course in self.courses):
            return tuple(course.seen for course in self.courses)
        trainer = self.trainer
        return predict_logits(trainer.network, trainer.samples, trainer.recipe.training).unbind(1)

    def _observe(self, learning: list[Learning]) -> list[Observation]:
        """What the network says of each object, where its schedule wants to know; predicted once for all."""
        if not any(course.observes() for course in learning):
            return [Observation.none(course.samples.n_frames) for course in learning]
        exact = any(course.counts() for course in learning)
        logits = look_at(self.trainer, exact).unbind(1)
        if exact:
            for course in self.courses:
                course.seen = logits[course.number]
        return [
            sum_up(logits[course.number], course.samples, course.schedule.priors.gamma)
            if course.observes()
            else Observation.none(course.samples.n_frames)
            for course in learning
        ]


def mean_record(records: list[EpochRecord]) -> EpochRecord:
    """One record that stands for those of all objects: their means; epoch and phase of the one that learns longest."""
    last = max(records, key=lambda record: record.epoch)
    names = [field.name for field in fields(EpochRecord) if field.type is float]
    return replace(last, **{name: float(np.mean([getattr(each, name) for each in records])) for name in names})


def share_out(targets: list[Targets]) -> list[Targets]:
    """Targets of several objects of which no pixel's probabilities exceed one together.

    Where they did, each is divided by their sum.
    """
    total = torch.stack([each.probability for each in targets]).sum(0).clamp(min=1)
    return [replace(each, probability=each.probability / total) for each in targets]
