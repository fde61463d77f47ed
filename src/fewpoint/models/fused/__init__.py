"""The network on CUDA, faster: everything in this folder changes how long it takes, never what is computed.

Triton kernels do batch norms, ReLUs, sums and changes of size in fewer passes over memory, frames are padded with
channels so that convolutions read them fast, and skip connections run on separate streams while a CUDA graph is
captured. Results differ from those of the plain network only by rounding.
"""

from fewpoint.models.fused.available import find_kernels
from fewpoint.models.fused.kernel_launches import compile_side_by_side
from fewpoint.models.fused.network import FusedNetwork
from fewpoint.models.multires_unet import MultiResUNet
from fewpoint.models.networks import Network

__all__ = ["FusedNetwork", "compile_side_by_side", "fuse", "runs_kernels"]


def fuse(network: Network | FusedNetwork) -> Network | FusedNetwork:
    """A MultiResUNet on CUDA as a network that shares its weights, and their names; any other as it is."""
    if isinstance(network, MultiResUNet) and network.head.weight.is_cuda:
        return FusedNetwork(network)
    return network


def runs_kernels(network: Network | FusedNetwork) -> bool:
    """Whether it runs Triton kernels, which are compiled when they are first used."""
    return isinstance(network, FusedNetwork) and network.settings.is_wide and find_kernels() is not None
