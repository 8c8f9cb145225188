"""States are copied, saved, loaded, joined and guarded exactly."""

import pytest
import torch

import fwl
from fast_cases import assert_same_sums, make_case


def test_a_saved_state_continues_as_if_never_stopped(tmp_path):
    for point in ("slow", "boundary"):
        case = make_case(1, tokens=21, gradient_at=point, decay=True, segment_tokens=4)
        whole = case.layer(case.hidden, case.targets, case.head, chunk=4)
        first = case.layer(case.hidden[:, :10], case.targets[:, :10], case.head, chunk=4)
        path = tmp_path / "state.safetensors"
        first.state.save(str(path))
        loaded = case.layer.load_state(path)
        second = case.layer(case.hidden[:, 10:], case.targets[:, 10:], case.head, chunk=4, state=loaded)
        assert torch.equal(second.fast_nll,
                           case.layer(case.hidden[:, 10:], case.targets[:, 10:], case.head, chunk=4,
                                      state=first.state).fast_nll)
        assert_same_sums(second.state.total(), whole.state.total(), 1e-12, point)


def test_a_state_of_another_layer_or_a_damaged_file_is_refused(tmp_path):
    case, other = make_case(1), make_case(1, layer_width=8)
    path = tmp_path / "state.safetensors"
    case.layer(case.hidden, case.targets, case.head).state.save(str(path))
    with pytest.raises(fwl.UserError, match="open.U: expected .*another model"):
        other.layer.load_state(path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(fwl.UserError):
        case.layer.load_state(path)


def test_reading_on_does_not_change_an_older_state():
    case = make_case(2, tokens=12)
    with torch.no_grad():
        first = case.layer(case.hidden, case.targets, case.head).state
        before = {name: sums.clone() for name, sums in first.total().items()}
        case.layer(case.hidden, case.targets, case.head, state=first)
    assert all(torch.equal(first.total()[name], before[name]) for name in before)
    assert first.tokens_read == [12, 12]


def test_drift_is_the_norm_of_the_update_relative_to_the_weight():
    case = make_case(3)
    state = case.layer(case.hidden[:1], case.targets[:1], case.head).state
    figures = case.layer.drift(state)["W"]
    update = case.layer.step_sizes()["W"] * state.total()["W"].norm().item()
    assert figures["update_norm"] == pytest.approx(update)
    assert figures["drift"] == pytest.approx(update / case.layer.W.norm().item())
    assert state.bytes == 8 * (2 * 5 * 7 + 7 + 3 * 5)


@pytest.mark.parametrize("point", ("slow", "boundary"))
def test_the_guard_bounds_every_update_relative_to_its_weight(point):
    case = make_case(4, tokens=400, gradient_at=point, segment_tokens=8, max_drift=0.25)
    case.layer.set_step_sizes({"U": 1.0, "W": 1.0, "b": 1.0, "a": 1.0, "gain": 1.0, "shift": 1.0})
    with torch.no_grad():
        state = case.layer(case.hidden, case.targets, case.head, chunk=8).state
    for name, sums in state.closed.items():
        weight = getattr(case.layer, name)
        limit = 0.25 * max(weight.norm().item(), weight.shape[-1] ** 0.5)
        assert sums.flatten(1).norm(dim=1).max().item() <= limit * (1 + 1e-9), name


def test_decay_or_guard_without_segments_is_a_clear_error():
    with pytest.raises(fwl.UserError, match="segment_tokens > 0"):
        fwl.FastWeightLayer(4, 8, decay=True)


def test_a_chunk_length_cannot_change_inside_an_open_chunk():
    case = make_case(5, tokens=6, gradient_at="boundary")
    state = case.layer(case.hidden, case.targets, case.head, chunk=4).state
    with pytest.raises(fwl.UserError, match="only where a chunk ends"):
        case.layer(case.hidden, case.targets, case.head, chunk=8, state=state)
    state = case.layer(case.hidden[:, :4], case.targets[:, :4], case.head, chunk=4).state
    case.layer(case.hidden, case.targets, case.head, chunk=8, state=state)
