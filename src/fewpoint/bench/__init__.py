"""Methods and truth brought together: which cells a suite has, how they are run, and what came out.

suite      a TOML file -> Suite;  sequences, the folders and files it names
methods    names -> segmenters;  oracles, those that know some of the truth;  protocols, what bound a method is given
cells      methods x sequences x seeds x settings;  results, what is kept of each
worker     one cell in its own process;  cases, what it is about;  epochs, its scores as it learns
person     who corrects masks;  effort, a run and rounds of words;  rounds, what is kept of each
tables     results -> mean and deviation by type;  glance, one line per setting;  page, with montages
           effort_tables and effort_figures, the same of efforts
records    what figures need of a cell;  reproduction, the paper's tables and figures of cells
run        all of it, from a suite to a folder that it can be resumed from

Importing this package is cheap; torch is loaded by the workers alone.
"""
