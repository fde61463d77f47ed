"""A long sequence of large frames: frames come as images, and come once."""

import re
from collections import Counter

import numpy as np

FRAMES, SIDE = 500, 1024


def write_long_sequence(path):
    """500 frames of 1024 x 1024, each with a square of its own; a file with holes, so that it takes no room."""
    frames = np.lib.format.open_memmap(path, "w+", np.uint8, (FRAMES, SIDE, SIDE))
    for index in range(FRAMES):
        frames[index, 2 * index : 2 * index + 20, 100:200] = 255
    frames.flush()


def test_500_frames_of_1024_by_1024_come_as_images_once_each_and_never_as_json(tmp_path, serve, visit):
    root = tmp_path / "root"
    root.mkdir()
    write_long_sequence(root / "long.npy")
    person = visit(serve(root, str(root / "long.npy"), "--no-live"))
    page = person.page
    person.see_frame(0)
    page.locator("#slider").focus()
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    person.see_frame(60)
    for frame in (499, 250, 3, 60):
        person.go_to(frame)
    asked = asked_frames(person)
    assert {0, 60, 499, 250, 3} <= {frame for frame, _ in asked}
    assert all(re.fullmatch(r"image/(png|jpeg|webp)", kind) for _, kind in asked)
    assert person.colour_at(2 * 60 + 10, 150) == [255, 255, 255] and person.colour_at(2 * 60 + 40, 150) == [0, 0, 0]

    # Back and forth over what was seen: nothing is asked for a second time.
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    person.see_frame(40)
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    person.see_frame(60)
    came = Counter(filter(None, map(find_frame, person.came)))
    assert {40, 60} <= came.keys() and set(came.values()) == {1}
    # Played on from the last frame, it begins again with the first.
    person.go_to(FRAMES - 1)
    page.locator("#stage").focus()
    begun_again = person.watch_for("state.frame > 0 && state.frame < 100")
    page.keyboard.press("Space")
    begun_again()
    page.keyboard.press("Space")
    # And no answer in JSON is large enough to hold a frame.
    assert all(length < SIDE * SIDE for length in json_lengths(person))


def find_frame(url: str) -> int | None:
    match = re.search(r"/frames/(\d+)\?", url)
    return int(match[1]) if match else None


def asked_frames(person) -> list[tuple[int, str]]:
    found = ((find_frame(url), kind) for url, kind in person.answers)
    return [(frame, kind) for frame, kind in found if frame is not None]


def json_lengths(person) -> list[int]:
    return person.page.evaluate(
        """() => performance.getEntriesByType("resource")
          .filter((entry) => entry.name.includes("/api/") && !entry.name.includes("/frames/"))
          .map((entry) => entry.decodedBodySize)"""
    )
