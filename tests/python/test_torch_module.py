"""The fast weight layer as users of PyTorch expect a module to behave."""

import copy
import io
import pickle

import fwl
import pytest
import torch

from fast_cases import assert_close

SETTINGS = dict(gradient_at="boundary", decay=True, max_drift=1.0, chunk_tokens=4)


def case(dtype=torch.float32, **options):
    torch.manual_seed(2)
    layer = fwl.FastWeightLayer(6, 9, **{**SETTINGS, **options}).to(dtype)
    layer.set_step_sizes({"U": 0.01, "W": 0.02, "b": 0.05})
    head = fwl.SoftmaxHead(torch.nn.Parameter(torch.randn(15, 6, dtype=dtype)), None)
    return layer, head, torch.randn(2, 11, 6, dtype=dtype), torch.randint(0, 15, (2, 11))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_under_autocast_the_layer_computes_in_its_own_precision(dtype):
    layer, head, hidden, targets = case()
    expected = layer(hidden.to(dtype).float(), targets, head)
    with torch.autocast("cpu", dtype=dtype):
        out = layer(hidden.to(dtype), targets, head)
        logits = layer.logits(hidden.to(dtype), head, out.state)
    assert torch.equal(out.fast_nll, expected.fast_nll) and out.fast_nll.dtype == logits.dtype == torch.float32
    out.fast_nll.sum().backward()
    assert layer.U.grad.isfinite().all()


def test_a_layer_and_a_head_of_half_precision_compute_in_single():
    layer, head, hidden, targets = case()
    layer, head = layer.to(torch.bfloat16), head.to(torch.bfloat16)
    out = layer(hidden.to(torch.bfloat16), targets, head)
    out.fast_nll.sum().backward()
    assert out.fast_nll.dtype == torch.float32 and layer.W.grad.dtype == torch.bfloat16


def test_targets_of_int32_are_targets():
    layer, head, hidden, targets = case()
    ids = torch.from_numpy(fwl.open_tokenizer("bytes").encode("\1\2\3\4")).unsqueeze(0)
    assert ids.dtype == torch.int32
    out = layer(hidden[:1, :4], ids, head)
    assert torch.equal(out.fast_nll, layer(hidden[:1, :4], ids.long(), head).fast_nll)
    assert torch.equal(head.nll(hidden[:1, :4], ids), head.nll(hidden[:1, :4], ids.long()))


def test_a_target_of_minus_100_neither_scores_nor_updates():
    layer, head, hidden, targets = case()
    ignored = targets.clone()
    ignored[0, [0, 3, 4]] = ignored[1, 7:] = -100
    out = layer(hidden, ignored, head)
    expected = layer(hidden, targets, head, weights=(ignored != -100).float())
    assert torch.equal(out.fast_nll, expected.fast_nll) and out.state.tokens_read == [8, 7]
    assert (out.fast_nll[ignored == -100] == 0).all()
    half = torch.full((2, 11), 0.5)
    both = layer(hidden, ignored, head, weights=half)
    assert_close(both.fast_nll, layer(hidden, targets, head, weights=half * (ignored != -100)).fast_nll, 1e-7, "both")


def test_a_state_can_be_moved_copied_pickled_and_selected():
    layer, head, hidden, targets = case()
    with torch.no_grad():
        state = layer(hidden, targets, head).state
        double = state.to(torch.float64)
        assert all(tensor.dtype == torch.float64 for tensor in double.tensors.values())
        assert state.to("meta").tensors["open.U"].is_meta
        stream = io.BytesIO()
        torch.save(state, stream)
        stream.seek(0)
        for same in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state), torch.load(stream, weights_only=True),
                     state.clone(), fwl.FastState.join([state.sequence(0), state.sequence(1)])):
            out, expected = (layer(hidden, targets, head, state=one) for one in (same, state))
            assert torch.equal(out.fast_nll, expected.fast_nll) and same.tokens_read == state.tokens_read
        swapped = layer(hidden[[1, 0, 0]], targets[[1, 0, 0]], head, state=state.rows(torch.tensor([1, 0, 0])))
        assert_close(swapped.fast_nll, expected.fast_nll[[1, 0, 0]], 1e-6, "rows")


def test_a_module_can_be_copied_pickled_and_restored_from_its_state_dict():
    layer, head, hidden, targets = case()
    fresh, other_head, _, _ = case()
    with torch.no_grad():
        for parameter in fresh.parameters():
            parameter.add_(1)
    fresh.load_state_dict(layer.state_dict())
    assert set(layer.state_dict()) == {"U", "a", "W", "b", "gain", "shift", "log_step_sizes", "decay_logits"}
    expected = layer(hidden, targets, head).fast_nll
    for same in (fresh, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(same(hidden, targets, pickle.loads(pickle.dumps(head))).fast_nll, expected)
    assert "6, 9" in repr(layer) and "gradient_at='boundary'" in repr(layer) and "(15, 6)" in repr(head)


def test_in_double_precision_everything_is_double():
    layer, head, hidden, targets = case(torch.float64)
    out = layer(hidden, targets, head)
    assert out.fast_nll.dtype == out.state.total()["U"].dtype == torch.float64


def test_every_error_is_a_value_error():
    layer, head, hidden, targets = case()
    with pytest.raises(ValueError, match="hidden states"):
        layer(hidden[..., :4], targets, head)
    with pytest.raises(ValueError, match="slow or boundary"):
        fwl.FastWeightLayer(4, 8, gradient_at="fast")


@pytest.mark.parametrize("options", [{}, {"gradient_at": "slow", "segment_tokens": 5, "rule": "momentum"}])
def test_torch_compile_leaves_the_layer_as_one_operator(options):
    layer, head, hidden, targets = case(**options)
    hidden.requires_grad_()
    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph.forward

    def read_twice(hidden, targets):
        first = layer(hidden * 2, targets, head)
        return first.fast_nll.mean() + layer(hidden, targets, head, state=first.state).fast_nll.mean(), first

    def gradients(loss):
        return torch.autograd.grad(loss, [hidden, *layer.parameters(), head.weight], allow_unused=True)

    for backend in (keep, "aot_eager"):
        loss, first = torch.compile(read_twice, fullgraph=True, backend=backend)(hidden, targets)
        expected, plain = read_twice(hidden, targets)
        assert_close(loss, expected, 1e-6, "loss")
        assert first.state.tokens_read == plain.state.tokens_read and first.state.open_tokens == plain.state.open_tokens
        for mine, wanted in zip(gradients(loss), gradients(expected)):
            assert (mine is None or not mine.any()) if wanted is None else torch.allclose(mine, wanted, atol=1e-5)
    calls = [str(node.target) for node in graphs[0].graph.nodes if node.op == "call_function"]
    assert sum("fast_weight_layer" in call for call in calls) == 2


def test_the_operator_is_registered_as_pytorch_wants_it():
    from fwl.layer_operator import fast_weight_layer

    layer, head, hidden, targets = case(torch.float64)
    torch.library.opcheck(fast_weight_layer, (
        hidden, targets, None, [tensor.detach().requires_grad_() for tensor in layer.parameter_list()],
        [head.weight.detach()], [], None, head.layout(), layer.options_text, "", 4, "chunked", True),
        test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))


def test_a_shipped_adapter_opens_as_a_layer():
    from test_training_process import ROOT

    layer = fwl.FastWeightLayer.from_adapter(ROOT / "adapters/smollm2-135m")
    stored = fwl.load_safetensors(str(ROOT / "adapters/smollm2-135m/adapter.safetensors"))
    assert torch.equal(layer.U, stored["fast.U"]) and layer.options["gradient_at"] == "boundary"
    assert torch.equal(layer.log_step_sizes, stored["fast.log_steps"]) and layer.chunk_tokens == 128
    with pytest.raises(ValueError, match="adapter with a layer, got memory.kind = none"):
        fwl.FastWeightLayer.from_adapter(ROOT / "adapters/smollm2-135m-blocks")
