"""fwl.attach: models of transformers with fast weights equal the C++ path, train, generate and go to disk."""

import copy
import pickle

import fwl
import pytest
import torch

from hf_models import BLOCKS, GOLDENS, LAYER, attached, core_model, hf_model, losses, random_tokens

KINDS = {"layer": {"layer": LAYER}, "blocks": {"blocks": BLOCKS}, "both": {"layer": LAYER, "blocks": BLOCKS}}


@pytest.mark.parametrize("name", ["gpt2", "llama-grouped"])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_and_gradients_are_those_of_the_cpp_path(name, kind):
    model = attached(name, **KINDS[kind])
    core, tokens = core_model(model, name), random_tokens(2, 30)
    mine, expected = losses(model, tokens), core.read(tokens, core.new_session(2))
    assert (mine - expected).abs().max() < 1e-5
    assert (losses(hf_model(name), tokens) - mine).abs().max() > 1e-3
    own = {name: tensor for name, tensor in model.fast_weights.adapter_tensors().items() if name not in UNUSED}
    theirs = [core.parameters()[name] if name in core.parameters() else None for name in own]
    gradients = torch.autograd.grad(mine.mean(), list(own.values()), allow_unused=True)
    wanted = torch.autograd.grad(expected.mean(), theirs, allow_unused=True)
    for key, gradient, other in zip(own, gradients, wanted):
        assert (gradient - other).abs().max() < 1e-5, key


UNUSED = ("fast.gain", "fast.shift")  # without LayerNorm


@pytest.mark.parametrize("name", ["qwen2-tied", "qwen3", "gemma3", "olmo2", "phi3-window", "smollm3"])
def test_memories_in_the_blocks_know_every_architecture(name):
    model = attached(name, blocks=BLOCKS | {"at": "all,head"})
    core, tokens = core_model(model, name), random_tokens(1, 20)
    with torch.no_grad():
        assert (losses(model, tokens) - core.read(tokens, core.new_session(1))).abs().max() < 1e-5


@pytest.mark.parametrize("options", [{"rule": "momentum"}, {"rule": "orthogonal"}, {"passes": 2, "start": True},
                                     {"token_rates": True, "max_update": 0.0}])
def test_every_setting_of_the_memories_means_what_it_means_on_the_command_line(options):
    model = attached(blocks=BLOCKS | options)
    with torch.no_grad():
        for tensor in (model.fast_weights.blocks.start, model.fast_weights.blocks.rates):
            if tensor is not None:
                tensor.normal_(0, 0.1)
    core, tokens = core_model(model), random_tokens(2, 30)
    with torch.no_grad():
        assert (losses(model, tokens) - core.read(tokens, core.new_session(2))).abs().max() < 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_gives_the_same_logits_in_pieces_and_in_padded_batches(kind):
    model, tokens = attached(**KINDS[kind]), random_tokens(2, 26)
    lengths = (26, 17)
    with torch.no_grad():
        alone = [model(input_ids=tokens[row:row + 1, :length]) for row, length in enumerate(lengths)]
        pieces = model(input_ids=tokens[:1, :4])
        for start, end in ((4, 5), (5, 6), (6, 19), (19, 26)):
            pieces = model(input_ids=tokens[:1, start:end], past_key_values=pieces.past_key_values)
        assert torch.allclose(pieces.logits[0, -1], alone[0].logits[0, -1], atol=1e-4)
        mask = torch.ones_like(tokens)
        mask[1, 17:] = 0
        for use_cache in (True, False):
            right = model(input_ids=tokens, attention_mask=mask, use_cache=use_cache)
            for row, length in enumerate(lengths):
                assert torch.allclose(right.logits[row, :length], alone[row].logits[0], atol=1e-4)
        left = tokens.clone()
        left[1] = torch.cat([torch.zeros(9, dtype=torch.int64), tokens[1, :17]])
        out = model(input_ids=left, attention_mask=mask.flip(1), position_ids=(mask.flip(1).cumsum(1) - 1).clamp_min(0))
        assert torch.allclose(out.logits[1, 9:], alone[1].logits[0], atol=1e-4)
        assert torch.allclose(out.logits[0], alone[0].logits[0], atol=1e-4)
        more = random_tokens(2, 9, seed=4)
        mask = torch.cat([mask.flip(1), torch.ones_like(more)], 1)
        after = model(input_ids=more, attention_mask=mask, past_key_values=out.past_key_values,
                      position_ids=(mask.cumsum(1) - 1)[:, -9:])
        for row, one in enumerate(alone):
            own = model(input_ids=more[row:row + 1], past_key_values=one.past_key_values)
            assert torch.allclose(after.logits[row], own.logits[0], atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adapt", ["prompt", "write"])
def test_generate_gives_the_tokens_of_the_cpp_path(kind, adapt):
    model = attached(adapt=adapt, **KINDS[kind])
    core, prompt = core_model(model), random_tokens(1, 9)
    session = core.new_session()
    with torch.no_grad():
        core.read(prompt, session)
        expected = core.generate(session, 20, temperature=0.0, adapt="write" if adapt == "write" else "read")
    mine = model.generate(prompt, max_new_tokens=20, do_sample=False)
    assert mine[0, 9:].tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_each_text_of_a_batch_and_each_beam_has_fast_weights_of_its_own(kind):
    model = attached(adapt="write", **KINDS[kind])
    prompts = [random_tokens(1, 11), random_tokens(1, 6, seed=8)]
    together = torch.cat([prompts[0], torch.cat([torch.zeros(1, 5, dtype=torch.int64), prompts[1]], 1)])
    mask = torch.ones_like(together)
    mask[1, :5] = 0
    options = dict(max_new_tokens=9, do_sample=False, pad_token_id=0)
    both = model.generate(together, attention_mask=mask, **options)
    for row, prompt in enumerate(prompts):
        assert both[row, 11:].tolist() == model.generate(prompt, **options)[0, prompt.shape[1]:].tolist()
    beams = model.generate(prompts[0], num_beams=3, return_dict_in_generate=True, output_scores=True, **options)
    mean = model_score(model, beams.sequences, 11)
    assert mean == pytest.approx(float(beams.sequences_scores[0]), abs=1e-4)


def model_score(model, tokens, prompt_tokens):
    """Mean log-probability of what follows the prompt, read in one call."""
    with torch.no_grad():
        return -float(losses(model, tokens)[0, prompt_tokens - 1:].mean())


def test_off_is_the_base_and_labels_are_scored_as_always():
    model, base, tokens = attached(layer=LAYER, blocks=BLOCKS), hf_model(), random_tokens(2, 20)
    labels = tokens.clone()
    labels[:, :6] = -100
    out = model(input_ids=tokens, labels=labels)
    kept = losses(model, tokens)[:, 5:]
    assert torch.allclose(out.loss, kept.mean(), atol=1e-5) and type(out) is type(base(input_ids=tokens))
    one = model(input_ids=tokens, logits_to_keep=1, output_hidden_states=True)
    assert torch.allclose(one.logits[:, 0], out.logits[:, -1], atol=1e-5)
    expected = base(input_ids=tokens, output_hidden_states=True).hidden_states
    assert [states.shape for states in one.hidden_states] == [states.shape for states in expected]
    model.fast_weights.adapt = "off"
    assert torch.equal(model(input_ids=tokens).logits, base(input_ids=tokens).logits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_loop_and_the_trainer_train_the_fast_weights_alone(kind, tmp_path):
    from transformers import Trainer, TrainingArguments

    model, tokens = attached(**KINDS[kind], base=GOLDENS / "llama-grouped"), random_tokens(4, 24)
    before = {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
    optimizer = torch.optim.Adam([tensor for tensor in model.parameters() if tensor.requires_grad], 1e-2)
    values = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    assert values[-1] < values[0]
    arguments = TrainingArguments(str(tmp_path), max_steps=2, per_device_train_batch_size=2, use_cpu=True,
                                  gradient_checkpointing=True, report_to=[], save_steps=2, learning_rate=1e-3)
    data = [{"input_ids": row, "labels": row} for row in tokens]
    trainer = Trainer(model=model, args=arguments, train_dataset=data)
    trainer.train()
    for name, tensor in model.named_parameters():
        assert torch.equal(tensor, before[name]) != name.startswith("fast_weights.") or name.endswith(
            tuple(key.split(".")[1] for key in UNUSED)), name
    again = fwl.attach(hf_model(), tmp_path / "checkpoint-2")
    model.eval()
    with torch.no_grad():
        assert torch.equal(losses(again, tokens), losses(model, tokens))


def test_accelerate_prepares_and_trains_an_attached_model():
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)  # the Trainer's
    model, tokens = attached(layer=LAYER, blocks=BLOCKS), random_tokens(2, 16)
    accelerator = Accelerator(cpu=True, mixed_precision="bf16")
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.fast_weights.parameters(), 0.1))
    loss = model(input_ids=tokens, labels=tokens).loss
    accelerator.backward(loss)
    optimizer.step()
    assert loss.isfinite() and model.fast_weights.layer.W.grad.isfinite().all()


def test_half_precision_models_get_single_precision_fast_weights():
    tokens = random_tokens(1, 20)
    model = fwl.attach(hf_model(dtype=torch.bfloat16), layer=LAYER, blocks=BLOCKS)
    out = model(input_ids=tokens, labels=tokens)
    out.loss.backward()
    assert out.logits.dtype == torch.bfloat16 and model.fast_weights.blocks.keys.grad.dtype == torch.float32
    double = fwl.attach(hf_model(dtype=torch.float64), layer=LAYER, blocks=BLOCKS)
    assert {tensor.dtype for tensor in double.parameters()} == {torch.float64}
    assert abs(double(input_ids=tokens, labels=tokens).loss.item() - out.loss.item()) < 0.05


def test_an_attached_model_can_be_copied_and_pickled():
    model, tokens = attached(layer=LAYER, blocks=BLOCKS), random_tokens(1, 20)
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(losses(same, tokens), losses(model, tokens))
        with torch.no_grad():
            same.fast_weights.blocks.keys.add_(1)
            assert (losses(same, tokens) - losses(model, tokens)).abs().max() > 1e-4


def test_inference_mode_is_no_obstacle():
    model, tokens = attached(layer=LAYER, blocks=BLOCKS), random_tokens(1, 20)
    with torch.inference_mode():
        inside = losses(model, tokens)
    assert torch.allclose(inside, losses(model, tokens), atol=1e-6)


def test_what_cannot_be_is_one_clear_error(monkeypatch):
    with pytest.raises(ValueError, match="expected a causal language model"):
        fwl.attach(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="without fast weights"):
        fwl.attach(attached(blocks="all"))
    with pytest.raises(ValueError, match="ranks"):
        fwl.attach(hf_model(), blocks={"at": "all", "ranks": 3})
    with pytest.raises(ValueError, match="adapt: expected prompt"):
        fwl.attach(hf_model(), adapt="always")
    model = attached(blocks="all")
    with pytest.raises(ValueError, match="expected input_ids"):
        model(inputs_embeds=torch.zeros(1, 3, 16))
    with pytest.raises(ValueError, match="cannot forget"):
        model(input_ids=random_tokens(1, 5)).past_key_values.crop(2)
    scaled = hf_model()
    scaled.lm_head.register_forward_hook(lambda module, inputs, output: output * 2)
    with pytest.raises(ValueError, match="a soft cap or a scale"):
        fwl.attach(scaled)
    import transformers

    monkeypatch.setattr(transformers, "__version__", "4.40.0")
    with pytest.raises(ValueError, match="expected transformers 4.57, got 4.40.0"):
        fwl.attach(hf_model())
