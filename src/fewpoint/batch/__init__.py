"""Many sequences, from a manifest to a folder of runs that can be left alone.

manifest   a CSV or a folder -> rows, as a person wrote them
items      rows -> items, in plain values, and what each asks of the pipeline
checks     every row tried before anything starts
worker     one item in a process of its own;  progress, what it tells meanwhile
folder     where everything lies;  summary, a row a sequence;  page, a montage a sequence;  status, for another shell
run        all of it, on any engine
"""
