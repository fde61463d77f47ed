"""Segment an object through a running annotator: python drive_annotator.py ADDRESS INPUT FRAME,Y,X …

INPUT is a path below the root of the server, as `frames` for one that was started with `fewpoint annotate frames`.
"""

import sys
from pathlib import Path

from fewpoint.web.client import Client

address, name, *clicks = sys.argv[1:]
project = Client(address).open_input(name)
for click in clicks:
    frame, y, x = map(int, click.split(","))
    project.add_point("object", frame=frame, y=y, x=x)
run = project.run()
project.wait(run, lambda state: print(state["state"], state["phase"], f"{state['epoch']} of {state['epochs']}"))
masks = project.masks(run, "object")
print(f"{masks.any(axis=(1, 2)).sum()} of {len(masks)} frames show the object")
doubtful = project.uncertainty(run)["next"]
print(f"most worth a look: frame {doubtful}")
Path("masks.zip").write_bytes(project.export(run, "png"))
