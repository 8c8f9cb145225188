"""fwl as a model of lm-evaluation-harness: `python -m fwl.lm_eval --model fwl --model_args path=smollm2 --tasks piqa`.

See docs/evaluation.md for the arguments.
"""

import sys

import torch

import fwl
from fwl import _C

try:
    from lm_eval.api.model import TemplateLM
    from lm_eval.api.registry import register_model
    from lm_eval.utils import get_rolling_token_windows, make_disjoint_window
    from tqdm import tqdm
except ImportError as error:
    missing = f"fwl.lm_eval: expected lm_eval 0.4.9 or newer, got {error}; pip install lm_eval"
    if __name__ == "__main__":
        sys.exit(missing)
    raise ImportError(missing) from error

PLACES = ("context", "weights", "both")


def row(tokens):
    return torch.tensor([tokens])  # 1,T


@register_model("fwl")
class FastWeightLM(TemplateLM):
    """Every request starts with fresh fast weights, which learn from its text while it is read.

    ``method``: static, fwl or blocks; by default fwl if there is an adapter or ``blocks``, else static. ``blocks``:
    untrained memories in the blocks, e.g. all. ``examples``: where few-shot examples go: the context, or the fast weights
    alone (weights: they are read first, ``passes`` times, and the question then without them), or both. The examples end
    with the last ``separator`` of the context.
    """

    def __init__(self, path, adapter="", method=None, blocks=None, examples="context", passes=1, separator="\n\n",
                 batch_size=8, max_length=None, max_gen_toks=256, seed=0, weights="quantized", device=None, **others):
        super().__init__()
        unknown = {name for name in others if name != "max_batch_size"}
        if unknown:
            raise ValueError(f"fwl: expected arguments of fwl.lm_eval, got {', '.join(sorted(unknown))}")
        if examples not in PLACES:
            raise ValueError(f"examples: expected {', '.join(PLACES)}, got {examples}")
        path = _C.find_model(str(path))
        opened = fwl.open_model(path, _C.find_adapter(adapter), weights)
        method = method or ("fwl" if adapter or blocks else "static")
        self.model = _C.with_method(opened, method, {"at": str(blocks)} if blocks else None)
        if device and (torch.device(device).type != "cuda" or torch.cuda.is_available()):  # which is the harness's default
            self.model.base.to(torch.device(device))
        self.adapt = "off" if method == "static" else "write"
        if examples != "context" and method == "static":
            raise ValueError("examples: expected a method with fast weights, got static")
        self.vocabulary = fwl.open_tokenizer(path)
        self.conventions = _C.prompt_conventions(path)
        self.examples, self.passes, self.separator = examples, int(passes), separator
        self.batch_size = int(batch_size)
        self.max_length = int(max_length or self.model.base.context_tokens or 2048)
        self.max_gen_toks = int(max_gen_toks)
        self.random = torch.Generator().manual_seed(int(seed))
        self.learned = ("", None)  # the latest examples, and the session that has learned them

    # --- text and tokens

    @property
    def eot_token_id(self):
        return self.vocabulary.end_token

    @property
    def prefix_token_id(self):
        begin = self.vocabulary.begin_token
        return self.eot_token_id if begin is None else begin

    def tok_encode(self, string, add_special_tokens=None, **_):
        begin = self.conventions.adds_begin if add_special_tokens is None else add_special_tokens
        tokens = self.vocabulary.encode(string, special=True).tolist()
        has_begin = tokens[:1] == [self.vocabulary.begin_token]
        return [self.vocabulary.begin_token, *tokens] if begin and not has_begin else tokens

    def tok_decode(self, tokens):
        return self.vocabulary.decode(tokens).decode("utf-8", "replace")

    @property
    def tokenizer_name(self):
        return self.vocabulary.hash

    def chat_template(self, chat_template=False):
        return self.conventions.chat_template if chat_template else None

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        return fwl.render_chat_template(self.conventions.chat_template, chat_history, self.conventions.begin_text,
                                        self.conventions.end_text, add_generation_prompt)

    # --- few-shot examples in the fast weights

    def split(self, context):
        """The examples that go into the fast weights, and what is read after them."""
        end = context.rfind(self.separator)
        if self.examples == "context" or end < 0:
            return "", context
        end += len(self.separator)
        return context[:end], context if self.examples == "both" else context[end:]

    def _encode_pair(self, context, continuation):
        return super()._encode_pair(self.split(context)[1], continuation)

    def start(self, examples):
        """A session that has learned from examples and holds no context."""
        if not examples:
            return self.model.new_session()
        if self.learned[0] != examples:
            session = self.model.new_session(long_text="restart")
            tokens = row(self.tok_encode(examples))
            for _ in range(self.passes if tokens.shape[1] > 1 else 0):
                _C.read_window(self.model, tokens, session)
                _C.forget_context(self.model, session)
            self.learned = (examples, session)
        return self.learned[1].clone()

    # --- requests

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, **_):
        results = [None] * len(requests)
        # The choices of a question have the same context, which is read once.
        order = sorted(range(len(requests)), key=lambda index: (requests[index][0] or ("",), requests[index][1]))
        bar = tqdm(total=len(requests), desc="loglikelihood", disable=disable_tqdm)
        for first in range(0, len(order), self.batch_size):
            batch = order[first:first + self.batch_size]
            for index, result in zip(batch, self.score([requests[index] for index in batch])):
                results[index] = result
                if requests[index][0] is not None:
                    self.cache_hook.add_partial("loglikelihood", requests[index][0], result)
            bar.update(len(batch))
        bar.close()
        return results

    def score(self, requests):
        """The log-likelihood of each continuation, and whether it is what greedy generation gives."""
        contexts, keys = {}, []
        for texts, context, continuation in requests:
            room = self.max_length + 1 - len(continuation)
            keys.append((self.split(texts[0])[0], tuple(context[-room:])))
            contexts.setdefault(keys[-1], self.start(keys[-1][0]))
        _C.read_together(self.model, [row(context) for _, context in contexts], list(contexts.values()), self.adapt)
        logits = {key: self.next_log_likelihoods(session) for key, session in contexts.items()}
        # The last token is predicted but not read, so that it may be one more than the context holds.
        sessions = [contexts[key].clone() for key in keys]
        longer = [index for index, (_, _, continuation) in enumerate(requests) if len(continuation) > 1]
        losses = _C.read_together(self.model, [row(requests[index][2][:-1]) for index in longer],
                                  [sessions[index] for index in longer], self.adapt)
        sums = [0.0] * len(requests)
        for index, loss in zip(longer, losses):
            sums[index] = -loss.sum(dtype=torch.float64).item()
        results = []
        for (_, _, continuation), key, session, known in zip(requests, keys, sessions, sums):
            last = logits[key] if len(continuation) == 1 else self.next_log_likelihoods(session)
            results.append((known + last[continuation[-1]].item(),
                            self.is_greedy(logits[key], contexts[key], continuation)))
        return results

    @torch.no_grad()
    def next_log_likelihoods(self, session):
        return self.model.next_logits(session, "off" if self.adapt == "off" else "read")[0].log_softmax(0)

    def is_greedy(self, first, session, tokens):
        if first.argmax().item() != tokens[0]:
            return False
        session = session.clone()
        for read, expected in zip(tokens, tokens[1:]):
            _C.read_together(self.model, [row([read])], [session], self.adapt)
            if self.next_log_likelihoods(session).argmax().item() != expected:
                return False
        return True

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        """Over whole documents, in the harness's windows; the fast weights carry over from one to the next."""
        sums = []
        for (text,) in tqdm([request.args for request in requests], disable=disable_tqdm):
            session, total = self.model.new_session(), 0.0
            windows = get_rolling_token_windows(self.tok_encode(text), self.prefix_token_id, self.max_length, 1)
            for context, scored in map(make_disjoint_window, windows):
                losses = _C.read_window(self.model, row([*context, *scored]), session, len(context), self.adapt)
                _C.forget_context(self.model, session)
                total -= losses.sum(dtype=torch.float64).item()
            sums.append(total)
            self.cache_hook.add_partial("loglikelihood_rolling", (text,), total)
        return sums

    def generate_until(self, requests, disable_tqdm=False):
        """The fast weights learn from the prompt, not from what is generated."""
        texts = [None] * len(requests)
        order = sorted(range(len(requests)), key=lambda index: len(requests[index].args[0]))
        bar = tqdm(total=len(requests), desc="generate_until", disable=disable_tqdm)
        for first in range(0, len(order), self.batch_size):
            batch = order[first:first + self.batch_size]
            for index, text in zip(batch, self.generate([requests[index].args for index in batch])):
                texts[index] = text
                self.cache_hook.add_partial("generate_until", requests[index].args, text)
            bar.update(len(batch))
        bar.close()
        return texts

    def generate(self, requests):
        writings = [Writing(self, context, dict(settings)) for context, settings in requests]
        _C.read_together(self.model, [row(writing.prompt) for writing in writings],
                         [writing.session for writing in writings], self.adapt)
        while going := [writing for writing in writings if not writing.is_done()]:
            for writing in going:
                writing.choose(self.next_log_likelihoods(writing.session))
            _C.read_together(self.model, [row(writing.tokens[-1:]) for writing in going],
                             [writing.session for writing in going], "off" if self.adapt == "off" else "read")
        return [writing.text() for writing in writings]


class Writing:
    """A text that is being generated."""

    def __init__(self, model, context, settings):
        examples, prompt = model.split(context)
        self.model, self.session, self.tokens = model, model.start(examples), []
        until = settings.pop("until", None) or []
        self.stops = [until] if isinstance(until, str) else list(until)
        self.max_tokens = int(settings.pop("max_gen_toks", model.max_gen_toks))
        self.temperature = float(settings.pop("temperature", 0.0)) if settings.pop("do_sample", False) else 0.0
        settings.pop("temperature", None)
        if settings:
            raise ValueError(f"generate_until: expected until, max_gen_toks, do_sample and temperature, got "
                             f"{', '.join(settings)}")
        self.prompt = (model.tok_encode(prompt) or [model.prefix_token_id])[-(model.max_length - self.max_tokens):]

    def choose(self, log_likelihoods):
        if self.temperature > 0:
            chances = (log_likelihoods / self.temperature).softmax(0)
            self.tokens.append(torch.multinomial(chances, 1, generator=self.model.random).item())
        else:
            self.tokens.append(log_likelihoods.argmax().item())

    def is_done(self):
        if len(self.tokens) >= self.max_tokens or self.tokens[-1:] == [self.model.eot_token_id]:
            return True
        written = self.model.tok_decode(self.tokens)
        return any(stop and stop in written for stop in self.stops)

    def text(self):
        tokens = self.tokens[:-1] if self.tokens[-1:] == [self.model.eot_token_id] else self.tokens
        text = self.model.tok_decode(tokens)
        for stop in self.stops:
            text = text.split(stop)[0] if stop else text
        return text


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    sys.exit(cli_evaluate())
