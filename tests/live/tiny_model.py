"""Make a tiny model that replies as it is told, and keep it as transformers does; run by a harness's Python.

Usage: python tiny_model.py LESSONS FOLDER. LESSONS are JSON rows [prompt, reply]. Nothing is loaded from
anywhere and nothing is trained: the tokenizer knows the words of the lessons, the layers are random, and
the head is solved so that each reply follows its prompt. It needs more dimensions than there are words
to say.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

WORDS = r" ?[^\s]+|\s"
"""A word with the blank before it, so that a text is its tokens put together."""
PAD, END, NEW = "<pad>", "<end>", "<new>"
CERTAIN = 20.0
"""Logit of the word to say next; all others have 0."""


def make_tokenizer(texts: list[str]) -> Any:
    """Make a tokenizer of whole words, whose template shows the content alone."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = dict.fromkeys(word for text in texts for word in re.findall(WORDS, text))
    vocabulary = {word: place for place, word in enumerate([PAD, END, NEW, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=NEW))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORDS), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, unk_token=NEW, model_max_length=2048
    )
    fast.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    return fast


def build(lessons: list[tuple[str, str]], folder: Path) -> dict[str, int]:
    """Make the model and its tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokenizer = make_tokenizer([text for lesson in lessons for text in lesson])
    texts = [(tokenizer(prompt).input_ids, [*tokenizer(reply).input_ids, 1]) for prompt, reply in lessons]
    said = sum(len(reply) for _, reply in texts)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=8 * (said // 4), intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=4, max_position_embeddings=2048,
        pad_token_id=0, eos_token_id=1, bos_token_id=None, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        states = torch.cat([_states(model, prompt, reply) for prompt, reply in texts]).double()
        wanted = torch.zeros((said, len(tokenizer)), dtype=torch.float64)
        wanted[torch.arange(said), torch.tensor([word for _, reply in texts for word in reply])] = CERTAIN
        head = torch.linalg.lstsq(states, wanted, driver="gelsd").solution
        model.lm_head.weight.copy_(head.T.float())
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {"words": len(tokenizer), "said": said}


def _states(model: Any, prompt: list[int], reply: list[int]) -> Any:
    """Return what the layers make of each place before which a word of the reply is said."""
    import torch

    states = model.model(input_ids=torch.tensor([prompt + reply[:-1]])).last_hidden_state[0]
    return states[len(prompt) - 1 :]


if __name__ == "__main__":
    print(json.dumps(build(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))))
