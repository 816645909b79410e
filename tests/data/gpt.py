"""A GPT-2-shaped model: forward and backward on the device and on the CPU, from the same weights."""

from __future__ import annotations

import json

import torch
from torch import nn

import flagos_runtime


class Block(nn.Module):
    """Attention and two linear layers, each after a norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.attend(self.norm_1(x)).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        past = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        weights = scores.masked_fill(~past, float("-inf")).softmax(dim=-1)
        x = x + self.project((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))


class GPT(nn.Module):
    """Two blocks between an embedding and a head; no weights are shared."""

    def __init__(self, words=96, length=16, width=32, heads=4, layers=2):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.words(tokens) + self.places(places))))


def step(model, tokens):
    """Return logits, loss and every gradient of one step on *tokens*."""
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    return [logits, loss, *(item.grad for item in model.parameters())]


def main():
    """Print the greatest difference of the two, and what each backend has served."""
    torch.manual_seed(0)
    model, ours = GPT(), GPT().to("cuda")
    ours.load_state_dict(model.state_dict())
    tokens = torch.randint(0, 96, (2, 17))
    pairs = zip(step(ours, tokens.to("cuda")), step(model, tokens), strict=True)
    error = max(float((one.detach().cpu() - other.detach()).abs().max()) for one, other in pairs)
    served = {item.overload: dict(item.served) for item in flagos_runtime.status().operators if item.served}
    print(json.dumps({"error": error, "served": served}))


if __name__ == "__main__":
    main()
