"""Wrong input to the fast weight core: one clear error each."""

import pytest
import torch

import fwl
from fast_cases import make_case


def test_wrong_input_is_one_clear_error():
    case = make_case(1)
    hidden, targets, head = case.hidden.detach(), case.targets, case.head

    def fails(expected, **changes):
        call = {"hidden": hidden, "targets": targets, "head": head, **changes}
        with pytest.raises(fwl.UserError, match=expected):
            case.layer(**call)

    fails(r"hidden states \(B,T,5\)", hidden=hidden[..., :4])
    fails(r"hidden states \(B,T,5\)", hidden=hidden[0])
    fails(r"targets \(2,17\)", targets=targets[:, :5])
    fails(r"targets in 0..10, got 11", targets=targets.clone().fill_(11))
    fails(r"targets in 0..10, got -1", targets=targets.clone().fill_(-1))
    fails("targets of type int64", targets=targets.float())
    fails("at least one token", hidden=hidden[:, :0], targets=targets[:, :0])
    fails("chunk > 0, got 0", chunk=0)
    fails("chunk > 0, got -3", chunk=-3)
    fails("finite hidden states", hidden=hidden.clone().index_fill_(1, torch.tensor([3]), float("nan")))
    fails("hidden states of type", hidden=hidden.float())
    fails("a head of width 5, got 4", head=fwl.SoftmaxHead(torch.randn(11, 4, dtype=torch.float64), None))
    fails("quadratic, chunked or recurrent", form="parallel")
    fails("finite token weights >= 0", weights=torch.full((2, 17), -1.0))
    fails("a state of 2 sequences, got 1", state=case.layer.zero_state(1))


def test_wrong_construction_is_one_clear_error():
    with pytest.raises(fwl.UserError, match="slow or boundary"):
        fwl.FastWeightLayer(4, 8, gradient_at="fast")
    with pytest.raises(fwl.UserError, match="sizes > 0"):
        fwl.FastWeightLayer(4, 0)
    with pytest.raises(fwl.UserError, match="residual"):
        fwl.FastWeightLayer(4, 8, d_out=5, residual=True)
    with pytest.raises(fwl.UserError, match="a bias of 3"):
        fwl.SoftmaxHead(torch.randn(3, 4), torch.randn(4))
    with pytest.raises(fwl.UserError, match="names among U"):
        fwl.FastWeightLayer(4, 8).set_step_sizes({"X": 1})
    with pytest.raises(fwl.UserError, match="rising cutoffs"):
        fwl.AdaptiveSoftmaxHead.create(8, 100, [50, 20])
