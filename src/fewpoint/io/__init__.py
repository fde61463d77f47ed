"""Files <-> nouns: frames, points and masks come in, masks and run folders go out. Free of torch.

images       any input -> ImageSequence
points       a CSV of clicks, or 3D Slicer's point lists (markups) <-> PointSet
masks        one mask per frame
stacks       which reader a path needs; decoding for pictures and arrays, and one file each for nifti, itk (NRRD and
             MetaImage), dicom, video, tiff and zarr_images
formats      what a result can be written as; nrrd, dicom_seg and coco only write; rtstruct reads and writes outlines
sources      where the input of a run is and how it lies, as JSON
volumes      a stored volume, and how it is cut into frames
tables       priors and training history as CSV
runs         the run folder: a manifest, one artefact per stage, the result
apart        files of others are decoded in a process that can do nothing but read them and answer
atomic       files that are either whole or not there
sizes        what a file declares but cannot hold is refused before memory is taken
extras       libraries that only some formats need

Foreign files are decoded in a process of their own: a process that is started once (`apart/zygote`) forks one per file,
which bounds its memory and confines itself (`apart/confine`: Landlock, seccomp) before it looks at the file. A crash, a
hang or too much memory is an InputError. A series on a PACS (`pacs`) becomes a folder before anything else happens.

Decoders are imported where they are used, so importing this package is cheap.
"""
