"""Branches of a network that are needed late, worked out beside the rest while a CUDA graph is recorded."""

import torch
from torch import Tensor, nn


class Branch:
    """What a module makes of features, on a stream of its own in a CUDA graph and at once elsewhere.

    A recorded step knows which kernels need which: large ones of a branch fill what small ones of the rest leave idle,
    and, since autograd goes back on the streams that it came by, so they do in the backward pass.
    """

    def __init__(self, module: nn.Module, features: Tensor) -> None:
        recorded = features.is_cuda and torch.cuda.is_current_stream_capturing()
        self._stream = torch.cuda.Stream() if recorded else None
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream())
            features.record_stream(self._stream)  # or its memory is given away while the branch still reads it
        with torch.cuda.stream(self._stream):  # nothing where there is none
            # By another name, so that gradients within the branch are added up before they leave it.
            self._result = module(features.view_as(features))

    def join(self) -> Tensor:
        """The result, for the stream that goes on with it."""
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)
            self._result.record_stream(torch.cuda.current_stream())
        return self._result
