"""What a layer of a network makes of images, and how the positions of its feature map become one code.

own     what its own classifier reads (timm), its pooler's output (hf)
mean    the mean over positions, class and register tokens left out
class   the class token
slots   every position is a slot (n, k, d)
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from unknot.errors import UnknotError, unknown

POOLS = ("own", "mean", "class", "slots")


def known_pool(pool: str, layer: str, usual: str) -> str:
    """The pooling that was asked for, or the usual one (which may be none); that of an inner layer is the mean."""
    pool = pool or ("mean" if layer else usual)
    if pool and pool not in POOLS:
        raise unknown("pool", pool, POOLS)
    if layer and pool == "own":
        raise UnknotError(
            f"encode: pool 'own' is that of the last layer, not of '{layer}'; use mean, class or slots.",
            field="pool",
        )
    return pool


def output_of(who: str, network: Any, layer: str, forward: Callable[[], Any]) -> Any:
    """What a layer, named as in `named_modules`, returned while a network ran; of several tensors, the first."""
    layers = dict(network.named_modules())
    if layer not in layers:
        near = get_close_matches(layer, layers, n=3, cutoff=0.4) or [name for name in layers if name][:3]
        raise UnknotError(f"{who}: has no layer '{layer}'; there are {', '.join(near)}, ...", field="layer")
    outputs: list[Any] = []
    hook = layers[layer].register_forward_hook(lambda module, inputs, output: outputs.append(output))
    try:
        forward()
    finally:
        hook.remove()
    if not outputs:
        raise UnknotError(f"{who}: its layer '{layer}' is not used for images; name another.", field="layer")
    return outputs[-1][0] if isinstance(outputs[-1], tuple | list) else outputs[-1]


def pooled(who: str, features: Any, pool: str, prefix: int = 0, *, channels_last: bool = False) -> Any:
    """Latents or slots of a feature map (n, c, h, w) or (n, h, w, c), or of tokens (n, k, d).

    Args:
        who: for messages.
        features: a tensor; one without positions (n, d) is its own mean.
        pool: "mean", "class" or "slots".
        prefix: tokens that are no positions, class and register tokens.
        channels_last: whether a map is (n, h, w, c).
    """
    if features.dim() == 4:
        tokens = features.flatten(1, 2) if channels_last else features.flatten(2).transpose(1, 2)
        prefix = 0
    elif features.dim() == 3:
        tokens = features
    elif features.dim() == 2 and pool == "mean":
        return features
    else:
        raise UnknotError(
            f"{who}: features have shape {tuple(features.shape)}, which have no positions; leave the pool out.",
            field="pool",
        )
    if pool == "class":
        if not prefix:
            raise UnknotError(f"{who}: has no class token; use pool mean, own or slots.", field="pool")
        return tokens[:, 0]
    positions = tokens[:, prefix:]
    return positions if pool == "slots" else positions.mean(1)
