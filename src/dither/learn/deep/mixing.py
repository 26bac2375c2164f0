"""Layers that mix the examples of a batch: found by name, and by trying public inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dither.errors import InvalidParameter
from dither.learn.deep.torch_library import torch_for

_NEEDS = "a check of a PyTorch module"
#: Groups of channels that are normalised together, where they divide the channels.
_GROUPS = (32, 16, 8, 4, 2, 1)
#: Channels of a group at least: two numbers alone are normalised to -1 and 1.
_LEAST = 4


def mixing_layers(module: Any) -> dict[str, str]:
    """Return the layers that mix examples of a batch: their names in the module, and their kinds."""
    torch = torch_for(_NEEDS)
    mixes = torch.nn.modules.batchnorm._BatchNorm
    return {
        name or "the module": type(part).__name__ for name, part in module.named_modules() if isinstance(part, mixes)
    }


def replace_layers(module: Any) -> Any:
    """Return the module with batch normalisation replaced by group normalisation, which sees one example at a time.

    ``BatchNorm1d`` becomes one group of all channels, so that an example without further axes has numbers to normalise;
    in other layers a group has at least four channels.

    Args:
        module: a PyTorch module, whose parts are replaced in place.

    """
    torch = torch_for(_NEEDS)
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        channels = module.num_features
        if not channels:
            rule = "a module whose lazy layers have their size: call it once on a public input first"
            raise InvalidParameter("module", type(module).__name__, rule)
        flat = isinstance(module, torch.nn.BatchNorm1d)
        groups = next(
            count
            for count in _GROUPS
            if count == 1 or (not flat and channels % count == 0 and channels // count >= _LEAST)
        )
        return torch.nn.GroupNorm(groups, channels, eps=module.eps, affine=module.affine)
    for name, part in list(module.named_children()):
        setattr(module, name, replace_layers(part))
    return module


def check_module(module: Any) -> None:
    """Refuse a module without parameters to train, or with layers that mix examples."""
    torch = torch_for(_NEEDS)
    if not isinstance(module, torch.nn.Module):
        raise InvalidParameter("model", type(module).__name__, "a torch.nn.Module")
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise InvalidParameter("model", type(module).__name__, "a module with parameters that require gradients")
    found = mixing_layers(module)
    if found:
        named = ", ".join(f"{name} ({kind})" for name, kind in found.items())
        rule = "without layers that mix the examples of a batch; dither.learn.deep.replace_layers replaces them"
        raise InvalidParameter("model", named, rule)


def check_on_public_input(module: Any, loss_of: Callable[..., Any], batch: list[Any]) -> None:
    """Refuse a loss that fails on a public example, is not one number, or does not use a parameter.

    Args:
        module: the module.
        loss_of: the loss of a batch of one example.
        batch: the parts of a public example, each with a first axis of length 1.

    """
    torch = torch_for(_NEEDS)
    failed: Exception | None = None
    try:
        loss = loss_of(*batch)
    except Exception as error:  # of a caller's function, on public numbers alone
        failed = error
    if failed is not None:
        form = ", ".join(f"{str(part.dtype).removeprefix('torch.')} {list(part.shape)}" for part in batch)
        rule = f"a loss that works on one public example, a batch of {form}: mend the model, the loss or the arrays"
        raise InvalidParameter("loss", f"{type(failed).__name__}: {failed}", rule) from failed
    if not (isinstance(loss, torch.Tensor) and loss.numel() == 1 and loss.requires_grad):
        raise InvalidParameter("loss", type(loss).__name__, "one number for a batch of one example, made by the model")
    named = [(name, one) for name, one in module.named_parameters() if one.requires_grad]
    found = torch.autograd.grad(loss.reshape(()), [one for _, one in named], allow_unused=True)
    unused = [name for (name, _), gradient in zip(named, found, strict=True) if gradient is None]
    if unused:
        rule = "made of parameters that take part in the loss; freeze the others with requires_grad_(False)"
        raise InvalidParameter("model", ", ".join(unused), rule)
