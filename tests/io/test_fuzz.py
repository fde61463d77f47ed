"""Readers meet damaged files with one line: no traceback, no hang, no memory over 2 GB, nothing printed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import imagecodecs
import numpy as np
import SimpleITK
import tifffile
import zarr

import fewpoint.errors
from dicom_series import save_enhanced, save_film, save_series
from videos import COLOUR, save_video
from volumes import AFFINE, VOXELS, save_nifti

SECONDS, SEED = 40, 7
MOST_MEMORY_MB = 2048
SOURCE = Path(fewpoint.errors.__file__).resolve().parents[1]


def save_samples(root: Path) -> None:
    """A small whole file of each kind: in `single` those that are read by themselves, else folders of frames."""
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
    (single / "p.csv").write_text("frame,y,x\n0,1,2\n3,absent\n")
    (single / "q.csv").write_text("lps_x,lps_y,lps_z,object\n-1,-2,3,a\n")
    (single / "f.fcsv").write_text("# CoordinateSystem = LPS\n# columns = id,x,y,z\n1,-2,-3,4\n")
    points = [{"label": "F-1", "position": [-1, -2, 3], "positionStatus": "defined"}]
    (single / "m.mrk.json").write_text(json.dumps({"markups": [{"type": "Fiducial", "controlPoints": points}]}))


def test_damaged_files_are_refused_in_one_line_within_bounds(tmp_path):
    save_samples(tmp_path)
    command = [sys.executable, str(Path(__file__).parent / "fuzz_readers.py"), str(tmp_path), str(SECONDS), str(SEED)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, check=False)
    *failures, last = done.stdout.splitlines()
    assert failures == []
    assert (done.returncode, done.stderr) == (0, "")
    _, read, _, refused, _, memory = last.split()
    assert int(read) > 20
    assert int(refused) > 100
    assert int(memory) < MOST_MEMORY_MB
