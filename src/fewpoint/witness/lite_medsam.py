"""LiteMedSAM (Ma et al., 2024) in torch: TinyViT's encoder on 256 pixels, SAM's decoder, one mask a prompt.

The network is written as functions of its weights, which are named as in the published file.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from fewpoint.errors import InputError
from fewpoint.witness.models import Answer, Encoded, Prompt
from fewpoint.witness.pictures import sample, stretch

SIDE, GRID, HEADS = 256, 64, 8
WINDOWS = (0, 7, 14, 7)  # of each stage; the first has convolutions in place of attention
HEADS_OF_STAGE = (0, 4, 5, 10)
STRIDES = (2, 2, 1)  # after each stage but the last

Weights = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class LiteMedSam:
    identity: str
    weights: Weights
    device: torch.device

    @classmethod
    def load(cls, files: tuple[Path, ...], identity: str) -> "LiteMedSam":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            content = torch.load(files[0], map_location=device, weights_only=True)
            weights = content.get("model", content)
            _ = weights["image_encoder.neck.0.weight"], weights["mask_decoder.iou_token.weight"]
        except Exception as error:  # torch raises many kinds
            raise InputError(f"{files[0]} must hold the weights of LiteMedSAM; fetch it again") from error
        return cls(identity, weights, device)

    @torch.no_grad()
    def encode(self, picture: np.ndarray) -> Encoded:
        shown = torch.from_numpy(prepare_picture(picture)).to(self.device)
        return {"embedding": encode_picture(self.weights, shown).half().cpu().numpy()}

    @torch.no_grad()
    def ask(self, encoded: Encoded, size: tuple[int, int], prompts: list[Prompt]) -> list[Answer]:
        embedding = torch.from_numpy(encoded["embedding"]).float().to(self.device)
        return [self._ask(embedding, size, prompt) for prompt in prompts]

    def _ask(self, embedding: Tensor, size: tuple[int, int], prompt: Prompt) -> Answer:
        places = torch.from_numpy(prompt.places / max(size)).float().to(self.device)
        labels = [int(label) for label in prompt.labels]
        mask, score = decode(self.weights, embedding, places, labels)
        rows, columns = ((np.arange(side) + 0.5) * SIDE / max(size) - 0.5 for side in size)
        return Answer(sample(mask.cpu().numpy(), rows, columns)[np.newaxis], np.array([float(score)]))


def prepare_picture(picture: np.ndarray) -> np.ndarray:
    """(1, 3, 256, 256): the longer side stretched to 256, from 0 to 1, zero below and to the right."""
    height, width = (round(side * SIDE / max(picture.shape[:2])) for side in picture.shape[:2])
    low, high = float(picture.min()), float(picture.max())
    prepared = np.zeros((1, 3, SIDE, SIDE), np.float32)
    even = (stretch(picture, (height, width)) - low) / max(high - low, 1e-8)
    prepared[0, :, :height, :width] = even.transpose(2, 0, 1)
    return prepared


def encode_picture(weights: Weights, shown: Tensor) -> Tensor:
    """(1, 256, 64, 64) of a (1, 3, 256, 256) picture."""
    own = _below(weights, "image_encoder.")
    values = functional.gelu(_convolve(own, "patch_embed.seq.0", shown))
    values = _convolve(own, "patch_embed.seq.2", values)
    for stage, window in enumerate(WINDOWS):
        depth = len({name.split(".")[3] for name in own if name.startswith(f"layers.{stage}.blocks.")})
        for number in range(depth):
            block = _below(own, f"layers.{stage}.blocks.{number}.")
            values = _attend(block, values, window, HEADS_OF_STAGE[stage]) if window else _inverted(block, values)
        if stage < len(STRIDES):
            values = _shrink(_below(own, f"layers.{stage}.downsample."), values, STRIDES[stage])
    values = functional.conv2d(values, own["neck.0.weight"])
    values = _norm_channels(values, own["neck.1.weight"], own["neck.1.bias"])
    values = functional.conv2d(values, own["neck.2.weight"], padding=1)
    return _norm_channels(values, own["neck.3.weight"], own["neck.3.bias"])


def decode(weights: Weights, embedding: Tensor, places: Tensor, labels: list[int]) -> tuple[Tensor, Tensor]:
    """(256, 256) logits and a score for a prompt of (n, 2) places in [0, 1], x first, and what they are."""
    prompt, own = _below(weights, "prompt_encoder."), _below(weights, "mask_decoder.")
    frequencies = prompt["pe_layer.positional_encoding_gaussian_matrix"]
    named = torch.cat([prompt[f"point_embeddings.{label}.weight"] for label in labels])
    points = _waves(places, frequencies) + named
    if 2 not in labels:  # no box: a last place stands for it
        points = torch.cat([points, prompt["not_a_point_embed.weight"]])
    tokens = torch.cat([own["iou_token.weight"], own["mask_tokens.weight"], points])
    ticks = (torch.arange(GRID, device=places.device) + 0.5) / GRID
    grid = torch.stack(torch.meshgrid(ticks, ticks, indexing="xy"), dim=-1).reshape(-1, 2)
    picture = embedding[0].flatten(1).T + prompt["no_mask_embed.weight"]
    tokens, picture = _exchange(_below(own, "transformer."), tokens, picture, _waves(grid, frequencies))
    fine = picture.T.reshape(1, -1, GRID, GRID)
    fine = functional.conv_transpose2d(fine, own["output_upscaling.0.weight"], own["output_upscaling.0.bias"], stride=2)
    fine = _norm_channels(fine, own["output_upscaling.1.weight"], own["output_upscaling.1.bias"])
    fine = functional.conv_transpose2d(
        functional.gelu(fine), own["output_upscaling.3.weight"], own["output_upscaling.3.bias"], stride=2
    )
    kernel = _three_layers(_below(own, "output_hypernetworks_mlps.0.layers."), tokens[1])
    scores = _three_layers(_below(own, "iou_prediction_head.layers."), tokens[0])
    return (functional.gelu(fine)[0] * kernel[:, None, None]).sum(0), scores[0]


def _below(weights: Weights, start: str) -> Weights:
    return {name[len(start) :]: value for name, value in weights.items() if name.startswith(start)}


def _convolve(weights: Weights, name: str, values: Tensor, stride: int = 1) -> Tensor:
    """A convolution, by channel if it has one input each, and its batch norm."""
    kernel = weights[f"{name}.c.weight"]
    groups = values.shape[1] // kernel.shape[1]
    values = functional.conv2d(values, kernel, stride=stride, padding=kernel.shape[-1] // 2, groups=groups)
    mean, variance, scale, shift = (
        weights[f"{name}.bn.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
    )
    return functional.batch_norm(values, mean, variance, scale, shift)


def _inverted(weights: Weights, values: Tensor) -> Tensor:
    wide = functional.gelu(_convolve(weights, "conv1", values))
    wide = functional.gelu(_convolve(weights, "conv2", wide))
    return functional.gelu(values + _convolve(weights, "conv3", wide))


def _shrink(weights: Weights, values: Tensor, stride: int) -> Tensor:
    values = functional.gelu(_convolve(weights, "conv1", values))
    values = functional.gelu(_convolve(weights, "conv2", values, stride))
    return _convolve(weights, "conv3", values)


def _attend(weights: Weights, values: Tensor, window: int, heads: int) -> Tensor:
    """Attention within windows, a convolution by channel, and two layers at each place."""
    _, channels, height, width = values.shape
    padded = functional.pad(values, (0, -width % window, 0, -height % window))
    down, across = padded.shape[2] // window, padded.shape[3] // window
    parts = padded.reshape(channels, down, window, across, window).permute(1, 3, 2, 4, 0)
    seen = _attend_within(weights, parts.reshape(down * across, window * window, channels), window, heads)
    seen = seen.reshape(down, across, window, window, channels).permute(4, 0, 2, 1, 3)
    values = values + seen.reshape(1, channels, down * window, across * window)[:, :, :height, :width]
    values = _convolve(weights, "local_conv", values)
    listed = values.flatten(2).transpose(1, 2)
    wide = functional.gelu(_linear(weights, "mlp.fc1", _norm(weights, "mlp.norm", listed)))
    return values + _linear(weights, "mlp.fc2", wide).transpose(1, 2).reshape(values.shape)


def _attend_within(weights: Weights, values: Tensor, window: int, heads: int) -> Tensor:
    parts, count, channels = values.shape
    mixed = _linear(weights, "attn.qkv", _norm(weights, "attn.norm", values))
    query, key, value = mixed.reshape(parts, count, heads, 3, -1).permute(3, 0, 2, 1, 4)
    steps = torch.arange(window, device=values.device)
    apart = (steps[:, None] - steps).abs()
    places = apart[:, None, :, None] * window + apart[None, :, None, :]
    bias = weights["attn.attention_biases"][:, places.reshape(count, count)]
    seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    return _linear(weights, "attn.proj", seen.transpose(1, 2).reshape(parts, count, channels))


def _exchange(weights: Weights, tokens: Tensor, picture: Tensor, waves: Tensor) -> tuple[Tensor, Tensor]:
    """Tokens and picture look at each other, twice."""
    asked = tokens
    for number in range(2):
        own = _below(weights, f"layers.{number}.")
        if number == 0:
            tokens = _look(own, "self_attn", tokens, tokens, tokens)
        else:
            tokens = tokens + _look(own, "self_attn", tokens + asked, tokens + asked, tokens)
        tokens = _norm(own, "norm1", tokens)
        looked = _look(own, "cross_attn_token_to_image", tokens + asked, picture + waves, picture)
        tokens = _norm(own, "norm2", tokens + looked)
        wide = functional.relu(_linear(own, "mlp.lin1", tokens))
        tokens = _norm(own, "norm3", tokens + _linear(own, "mlp.lin2", wide))
        looked = _look(own, "cross_attn_image_to_token", picture + waves, tokens + asked, tokens)
        picture = _norm(own, "norm4", picture + looked)
    looked = _look(weights, "final_attn_token_to_image", tokens + asked, picture + waves, picture)
    return _norm(weights, "norm_final_attn", tokens + looked), picture


def _look(weights: Weights, name: str, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    parts = ((f"{name}.{part}_proj", values) for part, values in (("q", query), ("k", key), ("v", value)))
    queries, keys, seen = (_linear(weights, *part).reshape(len(part[1]), HEADS, -1).transpose(0, 1) for part in parts)
    seen = functional.scaled_dot_product_attention(queries, keys, seen)
    return _linear(weights, f"{name}.out_proj", seen.transpose(0, 1).flatten(1))


def _waves(places: Tensor, frequencies: Tensor) -> Tensor:
    """(n, 256) of (n, 2) places in [0, 1]."""
    turns = 2 * math.pi * ((2 * places - 1) @ frequencies)
    return torch.cat([turns.sin(), turns.cos()], dim=-1)


def _three_layers(weights: Weights, values: Tensor) -> Tensor:
    for number in range(2):
        values = functional.relu(_linear(weights, f"{number}", values))
    return _linear(weights, "2", values)


def _linear(weights: Weights, name: str, values: Tensor) -> Tensor:
    return functional.linear(values, weights[f"{name}.weight"], weights[f"{name}.bias"])


def _norm(weights: Weights, name: str, values: Tensor) -> Tensor:
    scale = weights[f"{name}.weight"]
    return functional.layer_norm(values, scale.shape, scale, weights[f"{name}.bias"])


def _norm_channels(values: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return functional.layer_norm(values.movedim(1, -1), scale.shape, scale, shift, eps=1e-6).movedim(-1, 1)
