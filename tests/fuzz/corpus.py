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
from fewpoint.core.source import Source
from fewpoint.io.projects import ProjectLog
from fewpoint.io.runs import RunIdentity
from fewpoint.io.sources import write_source
from videos import COLOUR, save_video
from volumes import AFFINE, VOXELS, save_nifti

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
    np.save(single / "a.npy", pixels)
    np.savez_compressed(single / "a.npz", pixels)
    save_video(single / "a.mp4", COLOUR, "mpeg4", "yuv420p")
    save_video(single / "a.avi", COLOUR)
    save_film(single / "film.dcm", COLOUR)
    save_enhanced(single / "enhanced.dcm")
    save_series(root / "series")
    zarr.save_array(str(root / "plain.zarr"), pixels)
    for name, encode in {"0.png": imagecodecs.png_encode, "0.jpg": imagecodecs.jpeg8_encode}.items():
        folder = root / name[2:]
        folder.mkdir()
        (folder / name).write_bytes(encode(np.ascontiguousarray(COLOUR[0])))
    _save_texts(single)
    _save_run(root / "run")


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
    words = {"a": {"outlined": {}, "boxes": [], "size": 1.0, "sizes": {}}}
    (folder / "words.json").write_text(json.dumps(words))
