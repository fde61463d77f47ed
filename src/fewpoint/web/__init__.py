"""The annotator: a local server, and the page that it shows.

messages   what goes over the network, typed once
guard      who may ask, and what every answer carries
places     which paths may be read
sessions   projects that are open
pictures   frames as images
queueing   runs, one at a time, each in a process of its own (worker)
server     one function an address
client     the same from a script
"""
