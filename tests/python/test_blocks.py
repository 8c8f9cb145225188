"""Memories in the blocks of a base model, against plain PyTorch with autograd taken twice."""

import json
from pathlib import Path

import fwl
import pytest
import torch
from block_twin import BlockTwin

GOLDENS = Path(__file__).resolve().parents[1] / "goldens" / "llama-grouped"
SETTINGS = {"at": "all", "rank": 6, "chunk_tokens": 7, "step": 2.0, "decay": 0.9, "warmup_chunks": 2}
TRAINED = ("blocks.U", "blocks.log_steps", "blocks.decay_logits")


def model_and_twin(settings):
    base = fwl.open_base(str(GOLDENS))
    model = fwl.LanguageModel(base, blocks=settings)
    weights = {name: tensor.detach().double() for name, tensor in base.parameters().items()}
    return model, BlockTwin(weights, json.loads((GOLDENS / "config.json").read_text()), settings)


@pytest.mark.parametrize("bound", [0.05, 100.0])
def test_losses_and_meta_gradients_are_those_of_the_definition(bound):
    settings = SETTINGS | {"max_update": bound}
    model, twin = model_and_twin(settings)
    torch.manual_seed(3)
    tokens = torch.randint(0, 61, (2, 29))  # four chunks and the last target
    trained = [model.parameters()[name].requires_grad_() for name in TRAINED]
    losses = model.read(tokens, model.new_session(2))
    gradients = torch.autograd.grad(losses[:, :28].sum(), trained)

    doubled = [tensor.detach().double().requires_grad_() for tensor in trained]
    expected, _ = twin.read(tokens[:, :28], tokens[:, 1:], *doubled)
    assert torch.allclose(losses.double(), expected, atol=1e-4)
    assert not torch.allclose(losses[:, 7:].double(), twin.read(tokens[:, :28], tokens[:, 1:], doubled[0],
                                                                doubled[1] - 9, doubled[2])[0][:, 7:], atol=1e-3)
    for name, gradient, wanted in zip(TRAINED, gradients, torch.autograd.grad(expected.sum(), doubled)):
        assert torch.allclose(gradient.double(), wanted, atol=2e-3 * wanted.abs().max().item()), name


def test_settings_that_are_wrong_are_one_clear_error():
    base = fwl.open_base(str(GOLDENS))
    for settings, message in (({"at": "2"}, "blocks from 0 to 1"), ({"at": "all", "rank": 0}, "rank"),
                              ({"at": "1-x"}, "'x'"), ({"ranks": 3}, "ranks")):
        with pytest.raises(fwl.UserError, match=message):
            fwl.LanguageModel(base, blocks=settings)
