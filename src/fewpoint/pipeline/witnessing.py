"""A pretrained model as a witness in a run: it sees frames while networks learn, and is asked about what they say."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from fewpoint.core import ImageSequence, Listener, Message, ProbabilityMaps
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.targets import Targets, obey_labels
from fewpoint.pipeline.task import Task
from fewpoint.witness.encoding import EncodedFrames, EncodedStore, Pictures
from fewpoint.witness.heard import Heard, listen
from fewpoint.witness.models import load_promptable
from fewpoint.witness.pictures import stretch
from fewpoint.witness.store import find_model
from fewpoint.witness.trust import blend


@dataclass(frozen=True, eq=False)
class Witness:
    """frames: those in the focus, as the model sees them."""

    name: str
    frames: EncodedFrames
    listener: Listener

    def testify(self, task: Task, maps: ProbabilityMaps, name: str = "") -> Heard:
        """What it says about the masks of the only object of a task, cut from these probabilities. name: for people."""
        heard = listen(self.frames.ask, maps.values, task.points, task.own_words)
        belief, about = heard.belief, f" about {name}" if name else ""
        told = f"not accepted, {belief.reason}" if belief.reason else f"accepted on {belief.share:.0%} of the frames"
        self.listener(Message(f"foundation model {self.name}{about}: {told}"))
        return heard

    def teach(self, task: Task, targets: Targets, samples: SampleSet) -> Targets:
        """Targets of the next round in which its answers have a say, on the frames on which it is believed."""
        full = samples.size.enlarge(targets.probability.float()).cpu().numpy()
        heard = listen(self.frames.ask, full, task.points, task.own_words)
        weights = heard.belief.weights
        if not weights.any():
            return targets
        height, width = samples.size.reduced
        probability = targets.probability.clone()
        for frame in np.flatnonzero(weights).tolist():
            own = probability[frame, :height, :width]
            said = stretch(heard.logits_on(frame), samples.size.reduced)
            blended = blend(own.cpu().numpy(), said, float(weights[frame]))
            probability[frame, :height, :width] = torch.from_numpy(blended).to(own)
        return obey_labels(probability, samples)


@contextmanager
def call_witness(
    name: str, sequence: ImageSequence, listener: Listener, device: torch.device
) -> Iterator[Witness | None]:
    """The witness of a run, which begins to look at the frames at once; None without a name.

    A model that learnt from photographs is not called about pictures without colours: what it says about them, however
    sure it is, is mostly worse than what networks say.

    On a GPU it has seen all of them before anything is learnt: a step of learning is recorded there while nothing else
    may run.
    """
    if not name:
        yield None
        return
    if find_model(name).photographs and not Pictures.of(sequence).have_colours():
        listener(
            Message(f"foundation model {name}: not run, it was trained on photographs and these frames have no colours")
        )
        yield None
        return
    on_gpu = device.type == "cuda"
    model = load_promptable(name, on_gpu=on_gpu)
    frames = EncodedFrames(sequence, model, EncodedStore.usual(), beside=not on_gpu)
    try:
        yield Witness(name, frames, listener)
    finally:
        frames.close()
