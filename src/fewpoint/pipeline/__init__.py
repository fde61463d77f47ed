"""From frames and clicks to masks: what the default method and the paper's method share.

task          a job whose files are read;  plan, what will be done: made from settings, adapted to clicks and objects
groups        which objects learn together;  group, the steps of one group, from crop to whole frames
bounds        the size limit of an object: given, taken from the run to be refined, or estimated
focus         the box around all clicks; what follows knows this part only
stages        superpixels, samples, probability maps;  members, the networks round by round;  model, what is kept
masks         each pixel to the object with the highest score, free of torch: contradiction (corrections that the scores
              violate), cutting (scores to masks), cleaning (loose pieces)
calibration   probabilities that agree with the masks;  witnessing, the answers of a foundation model
previous      the run that a refinement starts from: groups, crop, superpixels, motion and limits are kept
rough         probabilities from colours alone, for the live preview, at a smaller size (smaller)
artefacts     one file per stage, so that a stopped run goes on;  costs, seconds and memory of each stage

One network learns all objects of a group at the resolution that the box around them allows; an object that would be
more than 1.5 times coarser than in a run of its own goes into another group. Groups run one after another.
"""
