"""The heart of the suite: the definition, its chunked and recurrent forms and a PyTorch twin agree, gradients included."""

import random

import pytest
import torch

import fwl
import twin
from fast_cases import STEPS, assert_close, assert_same_sums, make_case

TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5}
POINTS = ("slow", "boundary")
WEIGHTS = ("U", "a", "W", "b", "gain", "shift")


def weighted_sum(values):
    """A loss in which no two tokens have the same upstream."""
    return (values * torch.linspace(0.5, 1.5, values.numel(), dtype=values.dtype).view_as(values)).sum()


def run_in_segments(case, lengths, chunk, **call):
    """The text in pieces, the state handed on; returns the joined losses and the last state."""
    slow, fast, state, start = [], [], None, 0
    for length in lengths:
        part = slice(start, start + length)
        weights = call.get("weights")
        out = case.layer(case.hidden[:, part], case.targets[:, part], case.head, chunk=chunk, state=state,
                         form=call.get("form", "chunked"), weights=None if weights is None else weights[:, part])
        slow.append(out.slow_nll)
        fast.append(out.fast_nll)
        state, start = out.state, start + length
    return torch.cat(slow, 1), torch.cat(fast, 1), state


def random_split(rng, total):
    lengths = []
    while total:
        lengths.append(rng.randint(1, total))
        total -= lengths[-1]
    return lengths


def twin_of(case, segment, **options):
    weights = {name: getattr(case.layer, name) for name in WEIGHTS}
    steps = dict(zip(WEIGHTS, case.layer.log_step_sizes.exp()))
    decays = None if case.layer.decay_logits is None else dict(zip(WEIGHTS, case.layer.decay_logits.sigmoid()))
    head = case.head

    def nll(y, targets):
        if not isinstance(head, fwl.AdaptiveSoftmaxHead):
            return twin.softmax_nll(y, targets, head.weight, head.bias)
        def of_each(name):
            return [getattr(head, f"{name}_{k}") for k in range(head.clusters)]
        return twin.adaptive_nll(y, targets, of_each("weight"), of_each("bias"), of_each("projection"),
                                 head.cluster_weight, head.cluster_bias)

    return twin.layer(weights, steps, case.hidden, case.targets, nll, segment=segment, decays=decays, **options)


def check_same(case, reference, other, tolerance, what):
    """reference, other: (slow, fast, sums by weight)."""
    for name, expected, actual in (("slow", reference[0], other[0]), ("fast", reference[1], other[1])):
        assert_close(actual, expected, tolerance, f"{what}, {name} nll")
    assert_same_sums(other[2], reference[2], tolerance, what)
    probe = {name: torch.randn_like(sums) for name, sums in reference[2].items()}

    def loss(result):
        into_state = sum((result[2][name] * probe[name]).sum() for name in probe)
        return weighted_sum(result[1]) + 0.3 * weighted_sum(result[0]) + 1e-2 * into_state

    expected, actual = case.gradients(loss(reference)), case.gradients(loss(other))
    for name in expected:
        assert_close(actual[name], expected[name], 10 * tolerance, f"{what}, gradient of {name}")


@pytest.mark.parametrize("dtype", (torch.float64, torch.float32))
@pytest.mark.parametrize("point", POINTS)
def test_chunked_and_recurrent_forms_equal_the_definition_for_random_shapes(point, dtype):
    rng = random.Random(7)
    for seed in range(10):
        # The shortest and the longest texts always, the others at random; recurrent steps make long texts slow to test.
        tokens = (1, 2, 200)[seed] if seed < 3 else rng.randint(3, 40)
        chunk = rng.randint(1, 70)
        case = make_case(seed, batch=rng.randint(1, 3), tokens=tokens, width=rng.randint(1, 8) + 1,
                         layer_width=rng.randint(1, 12), vocabulary=rng.randint(2, 40), adaptive=False,
                         gradient_at=point, dtype=dtype)
        case.layer.set_step_sizes({name: step / (1 + tokens / 10) for name, step in STEPS.items()})
        result = {form: case.layer(case.hidden, case.targets, case.head, chunk=chunk, form=form)
                  for form in ("quadratic", "chunked", "recurrent")}
        triples = {form: (out.slow_nll, out.fast_nll, out.state.total()) for form, out in result.items()}
        for form in ("chunked", "recurrent"):
            check_same(case, triples["quadratic"], triples[form], TOLERANCE[dtype],
                       f"{form}, {point}, T={tokens}, chunk={chunk}")
        slow, fast, state = run_in_segments(case, random_split(rng, tokens), chunk)
        check_same(case, triples["quadratic"], (slow, fast, state.total()), TOLERANCE[dtype], f"segments, {point}")
        assert state.tokens_read == [tokens] * case.hidden.shape[0]


@pytest.mark.parametrize("options", (
    {}, {"residual": True}, {"layer_norm": False}, {"residual": True, "layer_norm": False}, {"grad_scale": 0.25},
    {"first_order": True}, {"d_out": 3}, {"adaptive": True}))
@pytest.mark.parametrize("point", POINTS)
def test_losses_states_and_gradients_equal_a_pytorch_twin_that_uses_autograd_twice(point, options):
    case = make_case(3, tokens=23, vocabulary=13, gradient_at=point, **options)
    chunk = 6
    out = case.layer(case.hidden, case.targets, case.head, chunk=chunk)
    told = {name: value for name, value in options.items() if name not in ("adaptive", "d_out")}
    expected = twin_of(case, chunk if point == "boundary" else None, gradient_at=point, **told)
    check_same(case, expected, (out.slow_nll, out.fast_nll, out.state.total()), 1e-11, f"twin, {point}, {options}")


@pytest.mark.parametrize("point", POINTS)
def test_decay_acts_at_fixed_boundaries_however_the_text_is_cut(point):
    segment = 5
    case = make_case(4, tokens=24, gradient_at=point, decay=True, segment_tokens=segment)
    expected = twin_of(case, segment, gradient_at=point)
    rng = random.Random(1)
    for lengths in ([24], [1] * 24, [5, 5, 14], [3, 4, 17], random_split(rng, 24)):
        slow, fast, state = run_in_segments(case, lengths, segment)
        assert_close(fast, expected[1], 1e-11, f"fast nll, {lengths}")
        gradients = case.gradients(weighted_sum(fast))
        for name, gradient in case.gradients(weighted_sum(expected[1])).items():
            assert_close(gradients[name], gradient, 1e-10, f"gradient of {name}, {lengths}")
        assert state.open_tokens == [24 % segment] * 2


@pytest.mark.parametrize("point", POINTS)
def test_gradients_equal_finite_differences(point):
    case = make_case(5, batch=1, tokens=7, width=3, layer_width=4, vocabulary=5, gradient_at=point, decay=True,
                     segment_tokens=3)
    names, tensors = zip(*case.tensors().items())

    def losses(*values):
        case.layer._parameters.update({name[6:]: value for name, value in zip(names, values) if name[:6] == "layer."})
        case.head._parameters.update({name[5:]: value for name, value in zip(names, values) if name[:5] == "head."})
        out = case.layer(values[-1], case.targets, case.head, chunk=3)
        return out.fast_nll, out.slow_nll

    assert torch.autograd.gradcheck(losses, tensors, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("point", POINTS)
def test_recomputed_chunks_give_the_same_gradients_as_kept_ones(point):
    kept = make_case(6, tokens=40, gradient_at=point, kept_state_bytes=1 << 30)
    recomputed = make_case(6, tokens=40, gradient_at=point, kept_state_bytes=0)
    results = []
    for case in (kept, recomputed):
        out = case.layer(case.hidden, case.targets, case.head, chunk=4)
        loss = weighted_sum(out.fast_nll) + sum(sums.sum() for sums in out.state.total().values())
        results.append((out.fast_nll, case.gradients(loss), out.state.open_tokens, out.state.tokens_read))
    assert_close(results[1][0], results[0][0], 1e-13, "fast nll")
    for name, gradient in results[0][1].items():
        assert_close(results[1][1][name], gradient, 1e-12, f"gradient of {name}")
    assert results[0][2:] == results[1][2:]


@pytest.mark.parametrize("point", POINTS)
def test_the_same_tokens_score_the_same_in_any_company(point):
    case = make_case(8, batch=3, tokens=19, gradient_at=point)
    together = case.layer(case.hidden, case.targets, case.head, chunk=4)
    for index in range(3):
        alone = case.layer(case.hidden[index:index + 1], case.targets[index:index + 1], case.head, chunk=4)
        assert_close(alone.fast_nll[0], together.fast_nll[index], 1e-12, "fast nll")
        assert_same_sums(alone.state.total(), together.state.sequence(index).total(), 1e-12, "state")


@pytest.mark.parametrize("point", POINTS)
def test_tokens_of_weight_zero_are_invisible_wherever_they_stand(point):
    case = make_case(9, batch=2, tokens=20, gradient_at=point, decay=True, segment_tokens=4)
    generator = torch.Generator().manual_seed(0)
    weights = (torch.rand(2, 20, generator=generator) > 0.4).double() * torch.rand(2, 20, generator=generator)
    weights[1, 12:] = 0
    hidden = case.hidden.detach().clone()
    hidden[weights == 0] = float("nan")
    targets = case.targets.masked_fill(weights == 0, -100)
    out = case.layer(hidden, targets, case.head, weights=weights, chunk=4)
    for index in range(2):
        kept = weights[index] > 0
        alone = case.layer(case.hidden[index:index + 1, kept], case.targets[index:index + 1, kept], case.head,
                           weights=weights[index:index + 1, kept], chunk=4)
        assert_close(out.fast_nll[index, kept], alone.fast_nll[0], 1e-12, "fast nll")
        assert out.fast_nll[index, ~kept].abs().sum() == 0 and out.slow_nll[index, ~kept].abs().sum() == 0
        assert_same_sums(out.state.sequence(index).total(), alone.state.total(), 1e-12, "state")
        assert out.state.open_tokens[index] == alone.state.open_tokens[0]
    rest = torch.randn(2, 9, 5, dtype=torch.float64), torch.randint(0, 11, (2, 9))
    again = case.layer(*rest, case.head, chunk=4, state=out.state)
    alone = case.layer(rest[0][1:], rest[1][1:], case.head, chunk=4, state=out.state.sequence(1))
    assert_close(again.fast_nll[1], alone.fast_nll[0], 1e-12, "sequences at different places in their segments")


def test_token_weights_scale_the_inner_gradients():
    case = make_case(10)
    weights = torch.rand(2, 17, dtype=torch.float64) + 0.1
    out = case.layer(case.hidden, case.targets, case.head, weights=weights, chunk=5)
    expected = twin_of(case, None, token_weights=weights)
    check_same(case, expected, (out.slow_nll, out.fast_nll, out.state.total()), 1e-11, "token weights")


def test_a_step_size_of_zero_switches_a_weight_off():
    case = make_case(11)
    case.layer.set_step_sizes(dict.fromkeys(WEIGHTS, 0.0))
    out = case.layer(case.hidden, case.targets, case.head, chunk=4)
    assert_close(out.fast_nll, out.slow_nll, 1e-13, "all off")
    case.layer.set_step_sizes({"b": 0.1})
    assert case.layer.step_sizes()["U"] == 0 and abs(case.layer.step_sizes()["b"] - 0.1) < 1e-12
    out = case.layer(case.hidden, case.targets, case.head, chunk=4)
    out.fast_nll.sum().backward()
    assert torch.isfinite(case.layer.log_step_sizes.grad).all()
    assert (out.fast_nll - out.slow_nll).abs().max() > 1e-3


def test_the_residual_form_starts_as_the_base_model():
    layer, weight = fwl.FastWeightLayer(6, 9, residual=True), torch.randn(12, 6)
    hidden, targets = torch.randn(1, 8, 6), torch.randint(0, 12, (1, 8))
    out = layer(hidden, targets, fwl.SoftmaxHead(weight, None))
    expected = torch.nn.functional.cross_entropy((hidden @ weight.T)[0], targets[0], reduction="none")
    assert_close(out.slow_nll[0], expected, 1e-5, "slow nll")


def test_logits_are_what_the_next_token_is_scored_with():
    for point in POINTS:
        case = make_case(12, gradient_at=point)
        state, nll = None, []
        for t in range(case.hidden.shape[1]):
            h, target = case.hidden[:, t:t + 1], case.targets[:, t:t + 1]
            logits = case.layer.logits(h, case.head, state)
            nll.append(torch.nn.functional.cross_entropy(logits[:, 0], target[:, 0], reduction="none"))
            state = case.layer(h, target, case.head, state=state, chunk=5).state
        out = case.layer(case.hidden, case.targets, case.head, chunk=5)
        assert_close(torch.stack(nll, 1), out.fast_nll, 1e-12, point)


def test_no_position_sees_its_own_target_or_a_later_one():
    for point in POINTS:
        case = make_case(13, batch=1, tokens=16, gradient_at=point)
        changed = case.targets.clone()
        changed[0, 9] = (changed[0, 9] + 1) % 11
        for form in ("quadratic", "chunked", "recurrent"):
            first, second = (case.layer.core().forward(case.hidden, targets, case.head.core(), None, 4, form, None, True)[1]
                             for targets in (case.targets, changed))
            same = (first == second)[0]
            assert same[:9].all() and not same[9:].any(), (point, form)


def test_scoring_without_gradients_equals_scoring_with_them():
    case = make_case(14, batch=2, tokens=2500, dtype=torch.float32)
    case.layer.set_step_sizes({name: step / 500 for name, step in STEPS.items()})
    with torch.no_grad():
        windows = case.layer(case.hidden, case.targets, case.head, chunk=64)
    whole = case.layer(case.hidden, case.targets, case.head, chunk=64)
    assert_close(windows.fast_nll, whole.fast_nll, 1e-5, "fast nll")
    assert_same_sums(windows.state.total(), whole.state.total(), 1e-5, "state")


@pytest.mark.parametrize("precision", ("bf16", "bf16-everywhere"))
def test_bf16_products_are_as_far_from_exact_ones_as_rounding_makes_them(precision):
    case = make_case(15, width=32, layer_width=64, vocabulary=100, tokens=64, dtype=torch.float32)
    case.layer.set_step_sizes({name: step / 50 for name, step in STEPS.items()})
    exact = case.layer(case.hidden, case.targets, case.head)
    gradients = case.gradients(exact.fast_nll.mean())
    with fwl.matmul_precision(precision):
        rounded = case.layer(case.hidden, case.targets, case.head)
        rounded_gradients = case.gradients(rounded.fast_nll.mean())
    # An operand is off by at most 2^-8 of itself; a gradient goes through a handful of products.
    rounding = 2**-8
    rounds = fwl.has_fast_bf16_gemm() if precision == "bf16" else fwl.has_bf16_gemm()
    at_least = rounding / 64 if rounds else 0
    error = (rounded.fast_nll - exact.fast_nll).abs().mean() / exact.fast_nll.abs().mean()
    assert at_least <= error < rounding
    for name, gradient in gradients.items():
        error = (rounded_gradients[name] - gradient).norm() / gradient.norm()
        assert at_least <= error < 4 * rounding, name
