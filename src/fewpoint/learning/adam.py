"""Adam (Kingma and Ba, 2015) with an L2 penalty, by torch's own function for a step."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

BETAS, EPSILON = (0.9, 0.999), 1e-8


class Adam:
    """Parameters with their running moments.

    torch.optim.Adam does the same, but its class loads torch's compiler when it is made: seconds of every run, for
    something that is not used here.
    rate: the learning rate of the next step; a tensor on a GPU, so that a captured step can be given another.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], weight_decay: float) -> None:
        self.parameters = list(parameters)
        self.weight_decay = weight_decay
        device = self.parameters[0].device
        self._fused = device.type in ("cpu", "cuda")
        self._captured = device.type == "cuda"
        self.rate: Tensor | float = torch.tensor(0.0, device=device) if self._captured else 0.0
        # A captured step can only count steps that are counted on the device.
        place = device if self._captured else torch.device("cpu")
        self._moments = {
            "mean": [torch.zeros_like(each, memory_format=torch.preserve_format) for each in self.parameters],
            "square": [torch.zeros_like(each, memory_format=torch.preserve_format) for each in self.parameters],
            "steps": [torch.tensor(0.0, device=place) for _ in self.parameters],
        }

    def set_rate(self, rate: float) -> None:
        if isinstance(self.rate, Tensor):
            self.rate.fill_(rate)
        else:
            self.rate = rate

    def forget_gradients(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        gradients = {number: each.grad for number, each in enumerate(self.parameters) if each.grad is not None}
        means, squares, steps = ([values[number] for number in gradients] for values in self._moments.values())
        adam(
            [self.parameters[number] for number in gradients],
            list(gradients.values()),
            means,
            squares,
            [],
            steps,
            foreach=not self._fused,
            fused=self._fused,
            capturable=self._captured,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=self.rate,
            weight_decay=self.weight_decay,
            eps=EPSILON,
            maximize=False,
        )

    def state_dict(self) -> dict[str, list[Tensor]]:
        return {name: list(values) for name, values in self._moments.items()}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, list[Tensor]]) -> None:
        """Copy the moments in place: a captured step refers to their memory."""
        for name, values in self._moments.items():
            for own, stored in zip(values, state[name], strict=True):
                own.copy_(stored)
