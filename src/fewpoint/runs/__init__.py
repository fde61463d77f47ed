"""One runner for every method: a job in, a run folder with masks, report and manifest out.

jobs         a job is read and its folder opened; a finished run is read, not run again
runner       groups one after another, or a competitor once per object, then results, report, and the manifest last
previous     the run that is refined;  partial, the latest prediction of each object as the result of a stopped run
live         masks for the live preview: from a finished or stopped run, or from colours, without torch
exports      files in every format;  recutting, masks of another size or threshold;  collecting, many runs in one place
provenance   what the manifest records;  summary, what `--json` prints;  words, files of annotations

The folder itself is `fewpoint.io.runs`. A run of another version, method, input, seed or settings does not get into it.
"""
