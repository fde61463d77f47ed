"""The layers of one image that is worked on, kept in step with its study. Nothing here knows Qt."""

from collections.abc import Callable
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer, Points
from napari.utils.colormaps import DirectLabelColormap

from fewpoint.core.project import NamedObject
from fewpoint.errors import InputError
from fewpoint.napari.clicks import find_changes, gather_clicks
from fewpoint.napari.layers import (
    CLICK,
    KEY,
    OFF,
    OFF_COLOUR,
    ON,
    PLACEMENT,
    SYMBOLS,
    give_colours,
    give_points,
    is_positive,
)
from fewpoint.napari.study import Study, find_painted, keep_painted

MASKS, PROBABILITY = "masks", "probability"


class Board:
    """An image layer with a points layer for each object and a labels layer for the masks of all.

    Layers that a reader made of the same project are taken; others are added. changed: called with a points layer in
    which a person has changed something; None to push it at once.
    """

    def __init__(
        self, viewer: ViewerModel, image: Image, study: Study, changed: Callable[[Points], object] | None = None
    ) -> None:
        self._viewer, self.image, self.study = viewer, image, study
        self._changed = changed or self.push
        self.points: dict[int, Points] = {}
        self._pulling = False
        self._mark(image)
        self.labels = self._find_labels() or self._add_labels()
        self._shown = np.array(self.labels.data)
        for layer in self._find_own(Points):
            self._take(layer, layer.metadata[KEY]["object"])
        self.pull()

    def close(self) -> None:
        """Let go of the layers, which stay as they are."""
        for layer in self.points.values():
            layer.events.data.disconnect(self._hear_data)
            layer.events.features.disconnect(self._hear_data)
            layer.events.name.disconnect(self._hear_name)

    def pull(self) -> None:
        """Add a layer for each object that has none, and show the clicks of all as the project has them."""
        for target in self.study.project.objects:
            layer = self.points.get(target.id)
            if layer is None or layer not in self._viewer.layers:
                self._add_points(target)
            elif find_changes(target, self._gather(layer)):
                self._pull_clicks(layer, target)
        self.labels.colormap = DirectLabelColormap(color_dict=give_colours(self.study.project))

    def adopt(self, layer: Points) -> NamedObject:
        """Take the points of a layer as clicks on a new object, or on the first one if nothing was said of it yet."""
        if layer.ndim != self.image.ndim:
            raise InputError(f"points must have three coordinates: frame, y, x; {layer.name} has {layer.ndim}")
        first = self.study.project.objects[0]
        spare = self.points.get(first.id)
        if first.points or first.brushed or spare is None or len(spare.data):
            target = self.study.add_object(self._free_name(layer.name))
        else:
            del self.points[first.id]
            self._viewer.layers.remove(spare)
            self.study.rename_object(first.id, self._free_name(layer.name))
            target = self.study.find_object(first.id)
        self._style(layer, target)
        self._take(layer, target.id)
        self.push(layer)
        return target

    def push(self, layer: Points) -> str:
        """Tell the study the clicks of a layer; what it refuses is taken back. Returns what a person should know."""
        number = layer.metadata[KEY]["object"]
        target = self.study.find_object(number)
        clicks, outside = gather_clicks(self._locate(layer), is_positive(layer.features, len(layer.data)), self.shape)
        try:
            self.study.set_clicks(target.name, clicks)
        except InputError:
            self._pull_clicks(layer, self.study.find_object(number))
            raise
        return f"{outside} points lie outside the image and do not count" if outside else ""

    def click_kind(self, layer: Points, kind: str) -> None:
        """Let new points of a layer lie on the object (ON) or next to it (OFF)."""
        layer.selected_data = set()  # else the selected ones would change, too
        layer.feature_defaults = {CLICK: kind}
        layer.current_symbol = SYMBOLS[kind]

    def show(self, labels: np.ndarray) -> None:
        """Show (T, H, W) masks; frames that a person is painting stay as they are."""
        shown: Any = keep_painted(np.asarray(self.labels.data), self._shown, labels)
        self.labels.data = shown
        self._shown = labels

    @property
    def painted(self) -> list[int]:
        """The frames on which a person has painted something that was not said yet."""
        return find_painted(np.asarray(self.labels.data), self._shown)

    def confirm(self, frame: int) -> None:
        """Say that the masks of a frame are right as they are now."""
        present = np.array(self.labels.data[frame])
        self.study.outline(frame, present)
        self._shown[frame] = present

    def discard(self, frame: int) -> None:
        """Take back that a frame is right, and what was painted there."""
        self.study.clear_outline(frame)
        self._shown[frame] = self.labels.data[frame]

    def show_probability(self, target: NamedObject, values: np.ndarray) -> None:
        """Show how sure the run was of an object, 0 to 1."""
        name = f"{self.image.name} {PROBABILITY} of {target.name}"
        if name in self._viewer.layers:
            self._viewer.layers[name].data = values
            return
        layer = Image(values, name=name, colormap="inferno", contrast_limits=(0, 1), opacity=0.6, **self._placement)
        self._mark(layer, derived=True)
        self._viewer.layers.insert(self._viewer.layers.index(self.image) + 1, layer)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.study.project.shape

    @property
    def frame(self) -> int:
        """The frame that is looked at."""
        place = self.image.world_to_data(self._viewer.dims.point[-3:])
        return int(np.clip(round(place[0]), 0, self.shape[0] - 1))

    def go_to(self, frame: int) -> None:
        """Look at a frame."""
        place = np.array(self.image.world_to_data(self._viewer.dims.point[-3:]))
        place[0] = frame
        axis = self._viewer.dims.ndim - 3
        self._viewer.dims.set_point(axis, float(self.image.data_to_world(place)[0]))

    @property
    def _placement(self) -> dict[str, Any]:
        return {name: getattr(self.image, name) for name in PLACEMENT}

    def _mark(self, layer: Layer, **more: Any) -> None:
        layer.metadata[KEY] = {"project": str(self.study.path), **more}

    def _find_own(self, kind: type[Layer]) -> list[Any]:
        mine = {"project": str(self.study.path)}
        return [
            layer
            for layer in self._viewer.layers
            if isinstance(layer, kind) and mine.items() <= layer.metadata.get(KEY, {}).items()
        ]

    def _find_labels(self) -> Labels | None:
        return next((each for each in self._find_own(Labels) if each.data.shape == self.shape), None)

    def _add_labels(self) -> Labels:
        labels = Labels(np.zeros(self.shape, np.uint8), name=f"{self.image.name} {MASKS}", **self._placement)
        self._mark(labels)
        self._viewer.layers.insert(self._viewer.layers.index(self.image) + 1, labels)
        return labels

    def _add_points(self, target: NamedObject) -> None:
        rows, options = give_points(target, self.shape)
        layer = Points(rows, **options, **self._placement)
        self._viewer.add_layer(layer)
        self._take(layer, target.id)

    def _style(self, layer: Points, target: NamedObject) -> None:
        """Give a layer of a person's own the feature that ours have, if it has none."""
        if CLICK not in layer.features:
            layer.features = layer.features.assign(**{CLICK: [ON] * len(layer.data)})
        layer.feature_defaults = {CLICK: ON}
        colours: Any = {ON: target.colour, OFF: OFF_COLOUR}
        layer.face_color_cycle = colours
        layer.face_color = CLICK

    def _take(self, layer: Points, number: int) -> None:
        self._mark(layer, object=number)
        self.points[number] = layer
        layer.events.data.connect(self._hear_data)
        layer.events.features.connect(self._hear_data)
        layer.events.name.connect(self._hear_name)

    def _pull_clicks(self, layer: Points, target: NamedObject) -> None:
        rows, options = give_points(target, self.shape)
        self._pulling = True
        try:
            layer.selected_data = set()
            layer.data = np.empty((0, 3))
            layer.add(np.array([self._to_layer(layer, row) for row in rows]).reshape(-1, 3))
            layer.features = options["features"]
            if len(rows):
                layer.symbol = options["symbol"]
            layer.selected_data = set()
        finally:
            self._pulling = False

    def _gather(self, layer: Points) -> dict[tuple[int, int, int], bool]:
        return gather_clicks(self._locate(layer), is_positive(layer.features, len(layer.data)), self.shape)[0]

    def _locate(self, layer: Points) -> np.ndarray:
        """(P, 3) points of a layer in the pixels of the image, wherever either lies in the world."""
        found = [self.image.world_to_data(layer.data_to_world(row)) for row in layer.data]
        return np.array(found, np.float64).reshape(-1, 3)

    def _to_layer(self, layer: Points, row: np.ndarray) -> np.ndarray:
        return np.asarray(layer.world_to_data(self.image.data_to_world(row)))

    def _free_name(self, name: str) -> str:
        taken = {each.name for each in self.study.project.objects}
        return "" if name in taken else name

    def _hear_data(self, event: Any) -> None:
        """Points were added, moved or removed, or it was changed what they are; napari tells before and after."""
        action = str(getattr(event, "action", "changed"))
        if not self._pulling and action in ("added", "removed", "changed"):
            self._changed(event.source)

    def _hear_name(self, event: Any) -> None:
        """A layer was renamed, and with it its object; a name that no object can have is taken back."""
        number = event.source.metadata[KEY]["object"]
        try:
            self.study.rename_object(number, event.source.name)
        except InputError:
            event.source.name = self.study.find_object(number).name
