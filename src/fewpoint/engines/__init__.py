"""Many jobs, each in its own process: one that crashes or is killed takes no other with it.

jobs       a job, how it ended, how far all are; run_jobs, with retries, over any Engine
processes  LocalEngine: processes of this machine, spread over its GPUs
cluster    RayEngine: the same processes on the machines of a Ray cluster, placed by Ray
worker     the process itself: `python -m fewpoint.engines.worker`

An engine knows nothing of what a job does. Importing this package is cheap.
"""
