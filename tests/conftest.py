"""One thread a process, in the tests and in what they start.

Networks this small gain nothing from a second thread, and threads that wait for each other on a busy machine make
them many times slower.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
