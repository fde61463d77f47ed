"""Files <-> nouns: frames, points and masks come in, masks and run folders go out. Free of torch.

images   a folder of frames, a volume, a TIFF stack or a NumPy array -> ImageSequence
points   a CSV of clicks, or 3D Slicer's point lists (markups) <-> PointSet
masks    one mask a frame, as PNG files; nifti in the grid of the volume
tables   priors and training history as CSV
runs     the run folder: a manifest, one artefact a stage, the result
atomic   files that are either whole or not there

Decoders (Pillow, tifffile, imagecodecs, nibabel) are imported where they are used, so importing this package is cheap.
"""
