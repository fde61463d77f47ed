"""The peak of this process alone."""

import subprocess
import sys

import numpy as np

from fewpoint.io.memory import PeakMemory, measure_peak


def test_memory_is_that_of_the_process_and_not_of_who_started_it():
    ballast = np.ones(60_000_000, np.float64)  # 458 MiB, which a child is wrongly charged with by getrusage
    code = "from fewpoint.io.memory import measure_peak; print(measure_peak().process_mb)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 10 < float(told) < ballast.nbytes / 2**20


def test_a_peak_stays_when_the_memory_is_given_back():
    ballast = np.ones(20_000_000, np.float64)
    during = measure_peak().process_mb
    size = ballast.nbytes / 2**20
    del ballast
    assert measure_peak().process_mb >= during > size


def test_without_a_gpu_there_is_no_figure_of_it():
    assert PeakMemory(2.0).or_more(PeakMemory(3.0)) == PeakMemory(3.0)
    assert PeakMemory(2.0, 5.0).or_more(PeakMemory(1.0, 6.0)) == PeakMemory(2.0, 6.0)
    assert PeakMemory(812.3).describe() == "812 MiB"
