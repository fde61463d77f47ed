"""What the competitors share that train the method's own network."""

import numpy as np
import pytest

from fewpoint.bench.methods import build_method, find_settings
from fewpoint.bench.oracles import build_oracle
from fewpoint.core import AreaBound, Geometry, ImageSequence, Segmenter, Source
from fewpoint.core.settings import as_table
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.learning.working import WorkingSize
from fewpoint.methods.competitors import network_learning
from synthetic import TINY

CHANGES = tuple((f"{part}.{key}", value) for part, values in as_table(TINY).items() for key, value in values.items())
PHANTOM = make_phantom(n_frames=4, size=(16, 64))


def make_oblong() -> ImageSequence:
    """Frames whose rows are four times as far apart as their columns: with square pixels, 64 x 64."""
    geometry = Geometry((64, 16, 4), (1.0, 4.0, 1.0), np.eye(3), (0.0, 0.0, 0.0))
    return ImageSequence(PHANTOM.sequence.frames, PHANTOM.sequence.names, Source("", "nifti", geometry))


def build(name: str) -> Segmenter:
    if name == "nnpu-true":
        return build_oracle(name, PHANTOM.truth, find_settings(name, CHANGES), "cpu")
    return build_method(name, CHANGES, "cpu")


@pytest.mark.parametrize("name", ["alterestpu", "dl-prior", "nnpu-true"])
@pytest.mark.parametrize(("make", "reduced"), [(make_oblong, (16, 32)), (lambda: PHANTOM.sequence, (8, 32))])
def test_oblong_pixels_are_worked_on_as_square_as_they_become_without_enlarging(name, make, reduced, monkeypatch):
    """At most 32 pixels a side: 64 x 64 is halved, but there are only 16 rows; as square pixels, 16 x 64 is halved."""
    sizes: list[WorkingSize] = []
    real = network_learning.build_samples

    def note(sequence, superpixels, points, size, device):
        sizes.append(size)
        return real(sequence, superpixels, points, size, device)

    monkeypatch.setattr(network_learning, "build_samples", note)
    result = build(name).segment(make(), PHANTOM.points, AreaBound(0.3), seed=0)
    assert [size.reduced for size in sizes] == [reduced]
    assert result.masks.shape == result.probabilities.values.shape == (4, 16, 64)
    assert all(result.masks[tuple(row)] for row in PHANTOM.points.coordinates)
