"""Branches of a network that are needed late, run in parallel with the rest while a CUDA graph is captured."""

from collections.abc import Callable

import torch
from torch import Tensor


class Branch:
    """The result of a function of features, on a separate stream in a CUDA graph and immediately elsewhere.

    A captured step knows which kernels need which: large ones of a branch fill what small ones of the rest leave idle.
    They do so in the backward pass too, since autograd runs it on the streams of the forward pass.
    """

    def __init__(self, work: Callable[[Tensor], Tensor], features: Tensor) -> None:
        recorded = features.is_cuda and torch.cuda.is_current_stream_capturing()
        self._stream = torch.cuda.Stream() if recorded else None
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream())
            features.record_stream(self._stream)  # or its memory is reused while the branch still reads it
        with torch.cuda.stream(self._stream):  # does nothing without one
            # A view, so that gradients within the branch are added up before they leave it.
            self._result = work(features.view_as(features))

    def join(self) -> Tensor:
        """The result, for the stream that continues with it."""
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)
            self._result.record_stream(torch.cuda.current_stream())
        return self._result
