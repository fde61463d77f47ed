"""One runner for every method: a job in, a run folder with masks, report and manifest out."""
