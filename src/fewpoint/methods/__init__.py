"""Every method by name, with its own settings; free of torch.

default and paper hold settings and make a `Plan` for the pipeline: the default propagates clicks, trains in rounds and
spreads probabilities; the paper's method estimates priors and tracks. competitors has one file per other method, each a
`core.Segmenter` for one object. resolve is the one place that turns preset, method and changes into settings.
"""
