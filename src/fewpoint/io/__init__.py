"""Files <-> nouns: frames, points and masks come in, masks and run folders go out. Free of torch.

images   a folder of frames, a TIFF stack or a NumPy array -> ImageSequence
points   a CSV of clicks <-> PointSet
masks    one mask a frame, as PNG files
tables   priors and training history as CSV
runs     the run folder: a manifest, one artefact a stage, the result
atomic   files that are either whole or not there

Decoders (Pillow, tifffile, imagecodecs) are imported where they are used, so importing this package is cheap.
"""
