"""The page about one run."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from fewpoint.core import Geometry, ImageSequence, Source
from fewpoint.report import ReportContent, StoppingRule, render_report
from fewpoint.report.health import WORDS
from fewpoint.report.html import list_health, summarise
from fewpoint.report.judging import judge
from fewpoint.report.reliability import count_reliability
from fewpoint.report.tiles import set_scene
from results import change

SECTIONS = ("summary", "montage", "frames", "training", "timings", "settings")
ESTIMATION = ("priors", "stopping")
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Outline(HTMLParser):
    """Attributes of every element, the text, and whether each element was closed in order."""

    def __init__(self, page):
        super().__init__()
        self.attributes, self.open, self.tags, self.text = [], [], set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def values(self, name):
        return [value for key, value in self.attributes if key == name]


def showing(content: ReportContent, **changed: Any) -> ReportContent:
    """The same with another sequence or result."""
    return replace(content, scene=replace(content.scene, **changed))


@pytest.fixture
def content(result):
    def build(title="Case 1", **shape):
        sequence, points, segmentation = result(**shape)
        return ReportContent(
            title,
            set_scene(sequence, points, segmentation),
            timings={"read": 1.0, "train": 99.0},
            settings={"training": {"batch": 2, "flips": False, "rate": 1e-5}},
            facts={"Device": "cpu", "Seed": "3"},
            warnings=("The bound may be too small.",),
            stopping=StoppingRule(0.007, 10, 30),
        )

    return build


def test_the_page_needs_no_other_file(content):
    page = render_report(content(n_frames=20, n_epochs=9))
    outline = Outline(page)
    assert "http" not in page and "@import" not in page and not outline.tags & {"link", "iframe"}
    assert "fetch(" not in page and "import(" not in page and "XMLHttp" not in page
    assert outline.values("src") and all(source.startswith("data:image/") for source in outline.values("src"))
    assert all(target.startswith("#") for target in outline.values("href"))
    assert not re.search(r"url\((?!#)", page)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "shape",
    [
        {"n_frames": 1},
        {"n_frames": 1, "n_epochs": 1},
        {"n_frames": 30, "n_epochs": 9},
        {"channels": 3, "n_epochs": 3},
        {"channels": 2},
        {"size": (3, 200)},
    ],
)
def test_every_section_is_there_and_every_element_closed(content, shape):
    outline = Outline(render_report(content(**shape)))
    assert outline.open == []
    identifiers = outline.values("id")
    assert set(SECTIONS) <= set(identifiers) and len(identifiers) == len(set(identifiers))
    assert set(outline.values("href")) <= {f"#{identifier}" for identifier in identifiers}


def test_curves_of_the_priors_are_there_only_where_some_were_estimated(content, history):
    base = content(n_epochs=6)
    assert set(ESTIMATION) <= set(Outline(render_report(base)).values("id"))
    second = change(base.segmentation, history=history(6, 5, phase="estimation, network 2"))
    assert set(ESTIMATION) <= set(Outline(render_report(showing(base, segmentation=second))).values("id"))
    warm = change(base.segmentation, history=history(6, 5, phase="warm-up"))
    page = Outline(render_report(showing(base, segmentation=warm)))
    assert not set(ESTIMATION) & set(page.values("id"))
    assert not {f"#{name}" for name in ESTIMATION} & set(page.values("href"))


def test_hostile_texts_are_shown_not_run(content):
    hostile = "<script>alert(1)</script>\"'&"
    base = content(hostile)
    sequence = ImageSequence(base.sequence.frames, (hostile, *base.sequence.names[1:]))
    segmentation = replace(base.segmentation, names=sequence.names)
    page = render_report(
        replace(
            showing(base, sequence=sequence, segmentation=segmentation),
            timings={hostile: 1.0},
            settings={hostile: {hostile: hostile}},
            facts={hostile: hostile},
            warnings=(hostile,),
        )
    )
    assert page.count("<script") == page.count("</script") == 2  # the slider's own
    assert Outline(page).text.count(hostile) >= 8


def test_what_was_given_is_told(content):
    text = Outline(render_report(content(n_frames=5))).text
    given = ("Case 1", "The bound may be too small.", "Device", "cpu", "batch", "false", "1e-05", "1 min 39 s", "99 %")
    assert all(told in text for told in given)
    assert "From 1 click on 1 frame, the object was found on 4 of 5 frames." in text


def test_without_training_the_page_says_so(content):
    assert "Nothing was trained" in render_report(content())
    assert "Nothing was trained" not in render_report(content(n_epochs=3))


def test_a_result_without_any_mask_is_told(content):
    base = content()
    segmentation = change(base.segmentation, masks=np.zeros_like(base.segmentation.masks))
    assert "on none of the 5 frames" in render_report(showing(base, segmentation=segmentation))


def test_only_what_the_run_has_must_be_given(result):
    outline = Outline(render_report(ReportContent("Case 1", set_scene(*result(n_epochs=3)))))
    assert set(SECTIONS) <= set(outline.values("id")) and "to check" not in outline.text


@pytest.mark.parametrize("pixel_type", [np.uint16, np.float32])
def test_deep_pixels_are_rendered(content, pixel_type):
    base = content()
    frames = base.sequence.frames.astype(pixel_type) * pixel_type(200)
    page = render_report(showing(base, sequence=ImageSequence(frames, base.sequence.names)))
    assert set(SECTIONS) <= set(Outline(page).values("id"))


def test_unknown_values_are_shown_as_dashes(content, history):
    base = content()
    base.segmentation.priors.mean[:] = np.nan
    past = history(9, 5, loss=float("nan"), negative_variance=float("nan"))
    outline = Outline(render_report(showing(base, segmentation=change(base.segmentation, history=past))))
    assert "–" in outline.text and "nan" not in outline.text


def test_equal_results_give_equal_pages(content):
    assert render_report(content(n_epochs=3)) == render_report(content(n_epochs=3))


@pytest.mark.nightly
def test_a_hundred_noisy_frames_stay_below_six_megabytes(content):
    assert len(render_report(content(n_frames=100, size=(256, 256), channels=3, n_epochs=250)).encode()) < 6e6


def test_the_summary_leaves_empty_frames_out_of_the_mean(content):
    summary = summarise(content(n_frames=5))  # 10 x 12 pixels masked of 40 x 48 on four frames
    assert (summary.frames, summary.masked_frames, summary.clicked_frames) == (5, 4, 1)
    assert summary.mean_share == summary.largest_share == 120 / 1920
    assert summary.largest_frame == "frame 0"


def test_every_frame_is_in_the_page_with_its_outline_and_clicks(content):
    page = render_report(content(n_frames=5))
    strip = json.loads(re.search(r'id="strip">(.*?)</script>', page)[1])
    assert [each["frame"] for each in strip["frames"]] == [0, 1, 2, 3, 4] and strip["step"] == 1
    assert all(each["image"].startswith("data:image/jpeg") for each in strip["frames"])
    assert [bool(each["outline"]) for each in strip["frames"]] == [True] * 4 + [False]
    assert strip["frames"][0]["clicks"] == [[16.5, 13.5]] and strip["frames"][1]["clicks"] == []


def test_what_was_asked_and_what_to_do_stand_in_the_page(content):
    asked = {"Input": "scan.nii.gz", "Command": "fewpoint segment scan.nii.gz"}
    steps = (("Look at frame 2 first.", "fewpoint recut run"),)
    page = Outline(render_report(replace(content(), asked=asked, next_steps=steps))).text
    assert page.index("scan.nii.gz") < page.index("What came out") < page.index("fewpoint recut run")


def test_areas_are_told_in_a_unit_that_people_read(content):
    base = content(n_frames=4)
    geometry = Geometry((48, 40, 4), (5.0, 5.0, 3.0), np.eye(3), (0.0, 0.0, 0.0))
    segmentation = replace(base.segmentation, source=Source("", "nifti", geometry))
    page = Outline(render_report(showing(base, segmentation=segmentation))).text
    # 120 pixels of 25 mm² on each of three frames 3 mm apart.
    assert "30 cm²" in page and "27 ml" in page and "e+0" not in page


def test_health_stands_in_the_page_worst_figure_first(content):
    plain = content()
    health = judge(plain.sequence, plain.points, plain.segmentation).health
    page = Outline(render_report(plain))
    shown = [words for words, _ in list_health(health)]
    assert set(shown) == set(WORDS.values()) - {WORDS["stopped"]}
    table = page.text[page.text.index("does not say how accurate masks are") :]
    assert sorted(shown, key=table.index) == shown
    assert [value for _, value in list_health(health)] == sorted(value for _, value in list_health(health))
    assert page.open == [] and f"{health.score:.2f}" in page.text


def test_a_reliability_curve_stands_in_the_page_where_frames_were_outlined(content):
    assert "Reliability of the probabilities" not in render_report(content())
    known = count_reliability([(np.full((4, 5), 0.25), np.eye(4, 5, dtype=bool))])
    page = Outline(render_report(replace(content(), reliability=known)))
    # A fifth of the pixels is the object, a quarter is said.
    assert "On the 1 drawn frame:" in page.text and "expected error is 0.050" in page.text
