"""The plugin for napari: clicks in a points layer, masks in a labels layer.

desk     what all images share: runs that wait for each other, masks that follow clicks
study    one image, as a project on disk: what is said of it, and what was found
clicks   points of a layer to actions of a project
layers   what napari's layers are made of, without napari
files    reading and writing .fewpoint, and a made-up sequence
widget   the dock widget, the only part that knows Qt

The work is done by the annotator's own sessions, queue and processes, without its server: a project that was begun
here goes on there, and the other way round.
"""
