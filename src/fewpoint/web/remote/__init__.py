"""The remote protocol of nnInteractive's clients, so that napari's and others' panels can drive fewpoint.

A client claims a session and sends an image, which becomes a project in a private folder with what answers at once and
the queue of runs, as if a page had opened it; what the client marks is said of that project, and the mask of its one
object goes back. interactions.py turns marks into actions, works.py keeps one image, leases.py who may use which,
routes.py has the addresses.
"""
