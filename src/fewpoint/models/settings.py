"""The shape of the network, as values; free of torch so that the command line can show them."""

from dataclasses import dataclass

from fewpoint.errors import SettingsError


@dataclass(frozen=True)
class NetworkSettings:
    """Which network, and its shape.

    kind: "multires", the paper's MultiResUNet, or "unet", a plain U-Net.
    base_width: width U of the first level; each level doubles it.
    levels: resolutions, the input's included.
    alpha: a block of a MultiResUNet of width U has alpha * U channels.
    multiple: channel counts of a MultiResUNet are rounded to a multiple of this; 8 suits GPU matrix units.
    longest_path: most convolutions on its skip connections; a level above the deepest has one, the next two, and so on.
    norm: "batch" (the paper's) or "group", which does not depend on the batch.
    head_prior: probability that the untrained network gives every pixel; 0 means half the bound.
    """

    kind: str = "multires"
    base_width: int = 32
    levels: int = 5
    alpha: float = 1.67
    multiple: int = 8
    longest_path: int = 4
    norm: str = "batch"
    head_prior: float = 0.01

    def __post_init__(self) -> None:
        if self.kind not in ("multires", "unet"):
            raise SettingsError(f"network.kind must be multires or unet, got {self.kind}")
        if min(self.base_width, self.levels, self.multiple, self.longest_path) < 1 or not self.alpha > 0:
            raise SettingsError(
                "network.base_width, levels, multiple and longest_path must be 1 or more, and alpha above 0"
            )
        if self.norm not in ("batch", "group"):
            raise SettingsError(f"network.norm must be batch or group, got {self.norm}")
        if not 0 <= self.head_prior < 1:
            raise SettingsError(f"network.head_prior must be 0 (half the limit) or below 1, got {self.head_prior:g}")
