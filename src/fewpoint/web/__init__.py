"""The annotator: a local server, and the page that it shows.

server      one function an address
serving     starting it
messages    what goes over the network, typed once
guard       who may ask, and what every answer carries
places      which paths may be read
uploads     files that visitors send
sessions    projects that are open
broadcast   telling all who watch one
pictures    frames as images
results     what a run found, with what was drawn in its place
exporting   masks as files, in a separate process
queueing    runs, one at a time, each in its own process
worker      that process; jobs: what it does; orders, events: what goes in and comes out; shown: what it leaves
following   what happens by itself when something is said: masks at once, then learning
live        the process that answers at once, seen from the server; live_worker: that process
said        what was said between two states of a project
processes   starting one and talking to it
faults      what a visitor did wrong
"""
