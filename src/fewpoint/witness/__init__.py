"""Foundation models, for those who have them: how they are kept and asked, and how much their answers count.

known        the models that can be had;  store, their files;  models, the two interfaces: promptable, and features
encoding     each frame is encoded once
asking       prompts from what the networks predict, and the choice among the answers over time
trust        how much the answers count, frame by frame;  heard, both together

A run asks twice: the answers change the targets of a further round, and the scores that masks are cut from. Where the
weight of a frame is 0, both stay as they were.
"""
