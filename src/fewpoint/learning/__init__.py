"""From clicks to probabilities: the PU risk, the prior filter, the phases of training.

There is one training loop. `Learning` in phases holds a `Trainer` (training: one network, one optimiser, one objective
per object, whose sum a step descends) and a course per object: its phase, priors, stopping rule and history.

samples      frames, labels and clicks on the device; a sample is a superpixel, whose logits are averaged
estimators   how priors are found: SSnnPU's filter (kalman), AlterEstPU's rule, or given priors
targets      what the next round learns from, at most one in sum over the objects; sizes, heldout, taper, outlines and
             depths say how much of each frame
motion       places of clicks in other frames
parts        the batch of a lone network on several cores;  mixed_precision, where convolutions are in bfloat16
checkpoints  weights, optimiser, generators and courses of a network that is learning now

Two generators, one for the order of frames and one on the device for augmentation, start from the seed and travel in
the checkpoint; nothing uses global random state. On a GPU sums are formed in another order from run to run.
"""
