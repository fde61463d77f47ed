"""Many sequences, from a manifest to a folder of runs that can be left alone.

manifest   a CSV or a folder -> rows, as a person wrote them
checks     every row tried before anything starts
worker     one item in its own process;  progress, what it reports meanwhile
folder     where everything lies;  summary and page, one row and one montage per sequence;  status, for another shell
run        all of it, on any engine
"""
