"""Makes the tiny models that a real vLLM serves in the end-to-end tests.

No model hub can be reached in CI, and random weights give only the two extremes of
acceptance (greedy output repeats itself and everything is accepted; sampled output
is noise and nothing is). So a tokenizer and a few transformers of 64 hidden units are
trained here for a minute on the standard library's own source, as chats that ask for a
function by its first line. Run by the vLLM environment's Python, through
``vllm_env.py --models``.

Folders made, each a model that vLLM loads:

- ``target``: Qwen3, 4 layers; serves baseline, ngram, suffix, draft_model and eagle3
- ``draft``: Qwen3, 1 layer, same tokenizer
- ``eagle3``: one EAGLE-3 layer trained on the target's hidden states
- ``mtp``: MiMo (Qwen2 layers) with one multi-token-prediction layer
"""

from __future__ import annotations

import ast
import json
import random
import sys
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from transformers.models.llama import modeling_llama as llama
from transformers.models.qwen2 import modeling_qwen2 as qwen2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_VOCABULARY = 2048
_HIDDEN = 64
_MAX_POSITIONS = 2048
_WINDOW = 128
_BATCH = 12
_AUX_LAYERS = (1, 2, 3)
_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# Not special: the parsers of tool calls and of reasoning must see them in the text.
_MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
_CHAT_TEMPLATE = """\
{%- if tools %}<|im_start|>system
Call a tool.<|im_end|>
{% elif enable_thinking %}<|im_start|>system
Think first.<|im_end|>
{% endif -%}
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""
_LAYERS: dict[str, Any] = {
    "vocab_size": _VOCABULARY,
    "hidden_size": _HIDDEN,
    "intermediate_size": 2 * _HIDDEN,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": _MAX_POSITIONS,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def conversations() -> list[str]:
    """Return every short function of the standard library as a chat."""
    library = Path(sysconfig.get_path("stdlib"))
    chats: list[str] = []
    for path in sorted(library.glob("*.py")):
        source = path.read_text(encoding="utf-8", errors="replace")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                chats.append(_conversation(ast.unparse(node), len(chats)))
    return chats


def _conversation(function: str, index: int) -> str:
    first_line, _, body = function[:800].partition("\n")
    name = first_line.split("(")[0].removeprefix("def ")
    system, answer = "", f"{first_line}\n{body}"
    if index % 6 == 1:
        system = "<|im_start|>system\nThink first.<|im_end|>\n"
        answer = f"<think>\nThe name is {name}.\n</think>\n\n{answer}"
    if index % 6 == 2:
        system = "<|im_start|>system\nCall a tool.<|im_end|>\n"
        call = json.dumps({"name": "lookup", "arguments": {"name": name}})
        answer = f"<tool_call>\n{call}\n</tool_call>"
    return (
        f"{system}<|im_start|>user\n{first_line}<|im_end|>\n"
        f"<|im_start|>assistant\n{answer}<|im_end|>\n"
    )


def train_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer, so that any byte can be a token's end."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=_VOCABULARY - len(_MARKERS),
            special_tokens=list(_SPECIAL),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer.add_tokens(list(_MARKERS))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=_SPECIAL[0],
        pad_token=_SPECIAL[0],
        eos_token=_SPECIAL[2],
        additional_special_tokens=[_SPECIAL[1]],
    )
    fast.chat_template = _CHAT_TEMPLATE
    return fast


class Corpus:
    """Windows of tokens, half of them from a chat's start as a request has it."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> None:
        random.Random(0).shuffle(texts)
        encoded = tokenizer(texts)["input_ids"]
        self._tokens = torch.tensor([token for ids in encoded for token in ids])
        lengths = torch.tensor([len(ids) for ids in encoded])
        starts = torch.cumsum(lengths, 0) - lengths
        self._starts = starts[starts < len(self._tokens) - _WINDOW]

    def batches(self, count: int) -> Iterator[Tensor]:
        """Yield ``count`` batches of token ids, the same ones every time."""
        generator = torch.Generator().manual_seed(0)
        offsets = torch.arange(_WINDOW)
        for _ in range(count):
            chosen = torch.randint(len(self._starts), (_BATCH,), generator=generator)
            yield self._tokens[self._starts[chosen][:, None] + offsets]


def fit(
    module: nn.Module,
    loss_of: Callable[[Tensor], Tensor],
    corpus: Corpus,
    *,
    steps: int,
    name: str,
) -> None:
    """Train ``module`` in place for ``steps`` steps of one cosine schedule."""
    started_at = time.monotonic()
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=6e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, steps)
    loss = torch.zeros(())
    for batch in corpus.batches(steps):
        loss = loss_of(batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
    taken_s = time.monotonic() - started_at
    print(f"{name}: loss {loss.item():.2f} after {steps} steps, {taken_s:.0f} s")


def next_token_loss(model: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return the usual loss of a causal language model."""
    return lambda batch: model(input_ids=batch, labels=batch).loss


def _distance(logits: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


class Eagle3Layer(nn.Module):
    """The draft model of EAGLE-3, with the parameter names that vLLM loads.

    Source: https://arxiv.org/abs/2503.01840
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.fc = nn.Linear(len(_AUX_LAYERS) * hidden, hidden, bias=False)
        layer = llama.LlamaDecoderLayer(config, 0)
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(layer.self_attn, name, nn.Linear(2 * hidden, hidden, bias=False))
        layer.hidden_norm = llama.LlamaRMSNorm(hidden, config.rms_norm_eps)
        self.midlayer = layer
        self.norm = llama.LlamaRMSNorm(hidden, config.rms_norm_eps)
        self.embed_tokens = nn.Embedding(config.vocab_size, hidden)
        self.lm_head = nn.Linear(hidden, config.vocab_size, bias=False)
        self.positions = [llama.LlamaRotaryEmbedding(config)]  # not a parameter

    def forward(self, tokens: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits and the hidden states that the next step starts from."""
        layer = self.midlayer
        embedded = layer.input_layernorm(self.embed_tokens(tokens))
        both = torch.cat([embedded, layer.hidden_norm(hidden)], dim=-1)
        cos_sin = self.positions[0](both, torch.arange(tokens.shape[1])[None])
        attended, _ = layer.self_attn(
            both, position_embeddings=cos_sin, attention_mask=None
        )
        hidden = hidden + attended
        hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
        return self.lm_head(self.norm(hidden)), hidden


def eagle3_loss(layer: Eagle3Layer, target: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return the loss over two drafted tokens, the second from the first's state."""

    def loss(batch: Tensor) -> Tensor:
        with torch.no_grad():
            states = target(batch, output_hidden_states=True).hidden_states
        hidden = layer.fc(torch.cat([states[i] for i in _AUX_LAYERS], dim=-1))
        total = torch.zeros(())
        for ahead in (1, 2):
            tokens = batch[:, ahead:-1]
            logits, hidden = layer(tokens, hidden[:, : tokens.shape[1]])
            total = total + _distance(logits, batch[:, ahead + 1 :])
        return total

    return loss


class MtpLayer(nn.Module):
    """MiMo's multi-token-prediction layer, with the parameter names vLLM loads."""

    def __init__(self, model: Qwen2ForCausalLM) -> None:
        super().__init__()
        config = model.config
        hidden, epsilon = config.hidden_size, config.rms_norm_eps
        self.token_layernorm = qwen2.Qwen2RMSNorm(hidden, epsilon)
        self.hidden_layernorm = qwen2.Qwen2RMSNorm(hidden, epsilon)
        self.input_proj = nn.Linear(2 * hidden, hidden, bias=False)
        self.block = qwen2.Qwen2DecoderLayer(config, 0)
        self.final_layernorm = qwen2.Qwen2RMSNorm(hidden, epsilon)

    def forward(self, embedded: Tensor, hidden: Tensor, cos_sin: Any) -> Tensor:
        """Return the normed hidden states that the model's own head reads."""
        embedded = self.token_layernorm(embedded)
        hidden = self.hidden_layernorm(hidden)
        joined = self.input_proj(torch.cat([hidden, embedded], dim=-1))
        return self.final_layernorm(
            self.block(joined, position_embeddings=cos_sin, attention_mask=None)
        )


def mtp_loss(layer: MtpLayer, model: Qwen2ForCausalLM) -> Callable[[Tensor], Tensor]:
    """Return the loss of the token after the next one."""
    before_norm: list[Tensor] = []
    model.model.norm.register_forward_pre_hook(
        lambda _, arguments: before_norm.append(arguments[0])
    )

    def loss(batch: Tensor) -> Tensor:
        tokens = batch[:, 1:-1]
        with torch.no_grad():
            model(batch)
            hidden = before_norm.pop()[:, :-2]
            embedded = model.model.embed_tokens(tokens)
            embedded[:, 0] = 0  # as vLLM masks the first position
            positions = torch.arange(tokens.shape[1])[None]
            cos_sin = model.model.rotary_emb(embedded, positions)
        states = layer(embedded, hidden, cos_sin)
        return _distance(model.lm_head(states), batch[:, 2:])

    return loss


def save(
    folder: Path,
    module: nn.Module,
    config: dict[str, Any],
    tokenizer: PreTrainedTokenizerFast,
    extra: dict[str, Tensor] | None = None,
) -> None:
    """Write weights in bfloat16, configuration and tokenizer as vLLM reads them."""
    tokenizer.save_pretrained(folder)
    tensors = {**module.state_dict(), **(extra or {})}
    if config.get("tie_word_embeddings"):
        del tensors["lm_head.weight"]
    save_file(
        {k: v.detach().to(torch.bfloat16).clone() for k, v in tensors.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    (folder / "config.json").write_text(
        json.dumps({**config, "dtype": "bfloat16"}, indent=1, default=str)
    )


def make_qwen3(
    folder: Path,
    tokenizer: PreTrainedTokenizerFast,
    corpus: Corpus,
    *,
    layers: int,
    steps: int,
) -> Qwen3ForCausalLM:
    """Train and write a Qwen3 of ``layers`` layers, and return it."""
    config = Qwen3Config(**_LAYERS, num_hidden_layers=layers, tie_word_embeddings=True)
    model = Qwen3ForCausalLM(config)
    fit(model, next_token_loss(model), corpus, steps=steps, name=folder.name)
    written = {**config.to_dict(), "architectures": ["Qwen3ForCausalLM"]}
    save(folder, model, written, tokenizer)
    return model


def make_eagle3(
    folder: Path,
    tokenizer: PreTrainedTokenizerFast,
    corpus: Corpus,
    target: Qwen3ForCausalLM,
) -> None:
    """Train an EAGLE-3 layer on ``target`` and write it."""
    config = LlamaConfig(
        **_LAYERS,
        num_hidden_layers=1,
        tie_word_embeddings=False,
        attn_implementation="sdpa",
    )
    layer = Eagle3Layer(config)
    embedding = target.get_input_embeddings().weight.detach()
    layer.embed_tokens.weight.data.copy_(embedding)
    layer.lm_head.weight.data.copy_(embedding)
    fit(layer, eagle3_loss(layer, target), corpus, steps=120, name=folder.name)
    written = {
        **config.to_dict(),
        "architectures": ["LlamaForCausalLMEagle3"],
        "draft_vocab_size": _VOCABULARY,
        "target_hidden_size": _HIDDEN,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": list(_AUX_LAYERS)},
    }
    save(folder, layer, written, tokenizer)


def make_mtp(folder: Path, tokenizer: PreTrainedTokenizerFast, corpus: Corpus) -> None:
    """Train a MiMo model, then its prediction layer, and write both as one."""
    # Qwen2 has no head_dim of its own: hidden size over heads, 32 here as well.
    layers = {k: v for k, v in _LAYERS.items() if k != "head_dim"}
    config = Qwen2Config(**layers, num_hidden_layers=2, tie_word_embeddings=False)
    model = Qwen2ForCausalLM(config)
    fit(model, next_token_loss(model), corpus, steps=250, name=folder.name)
    model.requires_grad_(requires_grad=False)
    layer = MtpLayer(model)
    fit(layer, mtp_loss(layer, model), corpus, steps=120, name=f"{folder.name} layer")
    written = {
        **config.to_dict(),
        "architectures": ["MiMoForCausalLM"],
        "num_nextn_predict_layers": 1,
    }
    extra = {
        # vLLM maps the layer's own attention and feed-forward names by itself.
        f"model.mtp_layers.0.{name.removeprefix('block.')}": tensor
        for name, tensor in layer.state_dict().items()
    }
    save(folder, model, written, tokenizer, extra)


def main(root: Path) -> None:
    """Make every model under ``root``, which must not hold any yet."""
    # A second thread waits for the first by spinning: beside other work on two cores
    # a step of 0.08 s took 2.6 s.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    chats = conversations()
    tokenizer = train_tokenizer(chats)
    corpus = Corpus(tokenizer, chats)
    for name in ("target", "draft", "eagle3", "mtp"):
        (root / name).mkdir(parents=True)
    target = make_qwen3(root / "target", tokenizer, corpus, layers=4, steps=300)
    make_qwen3(root / "draft", tokenizer, corpus, layers=1, steps=200)
    target.requires_grad_(requires_grad=False)
    make_eagle3(root / "eagle3", tokenizer, corpus, target)
    make_mtp(root / "mtp", tokenizer, corpus)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
