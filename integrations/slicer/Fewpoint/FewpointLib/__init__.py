"""What the module Fewpoint does besides its panel.

connection   a fewpoint server over HTTP
grid         where the voxels of a volume lie, and the frames that the server makes of them
study        a volume on a server: what was said about it, and its masks
nodes        nodes of Slicer's scene from and to these

All but nodes are free of Slicer. Slicer's Python, which may be as old as 3.9, has no fewpoint: nothing of it is
imported here.
"""
