"""A small whole file of each kind that is read, made on the fly."""

import json
from dataclasses import asdict
from pathlib import Path

import imagecodecs
import numpy as np
import SimpleITK
import tifffile
import zarr

from dicom_series import save_enhanced, save_film, save_series
from fewpoint.core.actions import AddPoint, SetBox
from fewpoint.core.geometry import Geometry
from fewpoint.core.job import PlainPoints
from fewpoint.core.points import PointSet
from fewpoint.core.source import Source
from fewpoint.io.projects import ProjectLog
from fewpoint.io.runs import RunIdentity
from fewpoint.io.sources import write_source
from videos import COLOUR, save_video
from volumes import AFFINE, VOXELS, save_nifti

SUITE = """root = "."
sequences = []
seeds = [0, 1]
bounds = ["eta", "box"]
[variants.wide]
network.base_width = 16
[[extra]]
name = "whole"
type = "volume"
input = "a.npy"
truth = "a.npy"
points = "points.csv"
"""
IDENTITY = RunIdentity("0.1.0", "fewpoint", "5e9", "901", "0.1", "5e7", 3)


def save_samples(root: Path) -> None:
    """In `single` files that are read by themselves, else folders that are read as a whole."""
    single = root / "single"
    single.mkdir(parents=True)
    pixels = VOXELS.astype(np.uint8)
    for name in ("a.nii", "a.nii.gz"):
        save_nifti(single / name, VOXELS, AFFINE)
    for name in ("a.nrrd", "a.mha", "b.nrrd", "b.mha"):
        SimpleITK.WriteImage(SimpleITK.GetImageFromArray(VOXELS), str(single / name), useCompression=name < "b")
    for name, options in {"a": {}, "b": {"compression": "lzw"}, "c": {"ome": True, "compression": "zlib"}}.items():
        tifffile.imwrite(single / f"{name}.tif", pixels, **options)
    for name in ("c.mhd", "d.nhdr"):  # headers that name a file beside them
        SimpleITK.WriteImage(SimpleITK.GetImageFromArray(VOXELS), str(single / name))
    _save_named(single / "d.tif")
    np.save(single / "a.npy", pixels)
    np.savez_compressed(single / "a.npz", pixels)
    save_video(single / "a.mp4", COLOUR, "mpeg4", "yuv420p")
    save_video(single / "a.avi", COLOUR)
    save_film(single / "film.dcm", COLOUR)
    save_enhanced(single / "enhanced.dcm")
    save_video(single / "b.mov", COLOUR, "mjpeg", "yuvj420p")
    save_series(root / "series")
    _save_zarrs(root, pixels)
    for name, encode in {"0.png": imagecodecs.png_encode, "0.jpg": imagecodecs.jpeg8_encode}.items():
        folder = root / name[2:]
        folder.mkdir()
        (folder / name).write_bytes(encode(np.ascontiguousarray(COLOUR[0])))
    _save_texts(single)
    _save_run(root / "run")
    _save_batch(root)


def _save_named(path: Path) -> None:
    """An OME-TIFF that names the file with its pixels, by a name long enough for any other."""
    tifffile.imwrite(path, np.zeros((1, 22, 32), np.uint8), metadata={"axes": "ZYX"}, ome=True)
    with tifffile.TiffFile(path) as stored:
        text = stored.ome_metadata or ""
    start = text.index("<TiffData")
    end = text.index(">", start)
    name = f"<TiffData IFD='0' PlaneCount='1'><UUID FileName='{'x' * 200}'>urn:uuid:1</UUID></TiffData>"
    told = text[:start] + name + text[end + 1 :]
    tifffile.imwrite(path, np.zeros((1, 22, 32), np.uint8), description=told.encode(), metadata=None)


def _save_zarrs(root: Path, pixels: np.ndarray) -> None:
    """Both versions of the format, the second as an image of two levels."""
    zarr.save_array(str(root / "plain.zarr"), pixels)
    group = zarr.open_group(str(root / "image.zarr"), mode="w", zarr_format=2)
    for level in ("0", "1"):
        group.create_array(level, data=pixels[:, :: 1 + int(level), :: 1 + int(level)])
    axes = [{"name": name, "type": "space", "unit": "millimeter"} for name in "zyx"]
    scales = [[2.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    levels = [
        {"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": scale}]}
        for level, scale in enumerate(scales)
    ]
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": levels}]


def _save_batch(root: Path) -> None:
    """The table of a batch, and what is read of its folder by another shell and the next start."""
    study, batch = root / "study", root / "batch"
    study.mkdir()
    np.save(study / "a.npy", VOXELS.astype(np.uint8))
    (study / "points.csv").write_text("frame,y,x\n0,1,2\n")
    (study / "study.csv").write_text("name,input,points,max_fraction,seed,size\na,a.npy,points.csv,0.3,1,1.2\n")
    (study / "suite.toml").write_text(SUITE)
    (batch / "progress").mkdir(parents=True)
    (batch / "batch.json").write_text(json.dumps({"format": "fewpoint batch"}))
    status = {"state": "running", "counts": {"running": 1}, "running": {"a": ""}, "seconds_left": 3.5, "failed": []}
    (batch / "status.json").write_text(json.dumps({**status, "at": 1.7e9}))
    progress = {"stage": "learning", "done": 2.0, "total": 9, "host": "here", "pid": 1, "at": 1.7e9}
    (batch / "progress" / "a.json").write_text(json.dumps(progress))
    (batch / "checks.json").write_text(json.dumps({"a": {"key": "k", "identity": {}, "results": [], "doubts": []}}))


def _save_texts(single: Path) -> None:
    (single / "p.csv").write_text("frame,y,x\n0,1,2\n3,absent\n")
    (single / "q.csv").write_text("lps_x,lps_y,lps_z,object\n-1,-2,3,a\n")
    (single / "f.fcsv").write_text("# CoordinateSystem = LPS\n# columns = id,x,y,z\n1,-2,-3,4\n")
    points = [{"label": "F-1", "position": [-1, -2, 3], "positionStatus": "defined"}]
    (single / "m.mrk.json").write_text(json.dumps({"markups": [{"type": "Fiducial", "controlPoints": points}]}))
    (single / "settings.toml").write_text("[warmup]\nepochs = 3\n[network]\nwidth = 8\n")
    log = ProjectLog.create(single / "a.fewpoint", single / "a.npy", VOXELS.shape)
    log.do(AddPoint("object", 0, 1, 2))
    log.do(SetBox("object", 0, 0, 0, 2, 2))
    log.close()


def _save_run(folder: Path) -> None:
    """What is read of a finished run but its arrays."""
    folder.mkdir()
    result = {"objects": [{"bound": 0.1, "bound_origin": "given", "name": "a", "colour": [1, 2, 3]}], "notes": []}
    manifest = {"format": "fewpoint run", "state": "finished", "identity": asdict(IDENTITY), "result": result}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "priors.csv").write_text("frame,prior,standard_deviation,observed\n0,0.1,0.1,0.1\n")
    arrays = {"masks": np.zeros((1, 4, 4), bool), "probabilities": np.zeros((1, 4, 4), np.float16)}
    np.savez(folder / "probabilities.npz", names=np.array(["0"]), **arrays)
    geometry = Geometry.from_affine(np.eye(4), (4, 4, 1))
    write_source(Source("/nowhere", "nifti", geometry, b"head"), folder / "source.json")
    (folder / "points.json").write_text(json.dumps(PlainPoints.of(PointSet.from_rows([(0, 1, 2)])).as_table()))
    words = {"a": {"outlined": {}, "boxes": [], "size": 1.0, "sizes": {}}}
    (folder / "words.json").write_text(json.dumps(words))
