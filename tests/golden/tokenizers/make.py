"""Makes the files beside it: python make.py, with tokenizers 0.23.3 (PyPI); then npm run format.

corpus.txt and strings.json are given. Out of them: bpe.json, learnt from the corpus by Hugging Face's own trainer;
wordpiece-*.json, BERT's parts around a vocabulary learnt by it; expected.json, what those three make of the strings.
"""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

here = Path(__file__).parent
lines = here.joinpath("corpus.txt").read_text(encoding="utf-8").split("\n")
strings = json.loads(here.joinpath("strings.json").read_text(encoding="utf-8"))

bpe = Tokenizer(models.BPE())
bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
bpe.post_processor = processors.ByteLevel(trim_offsets=False)
bpe.decoder = decoders.ByteLevel()
bpe.train_from_iterator(
    lines,
    trainers.BpeTrainer(
        vocab_size=500,
        min_frequency=2,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    ),
)


def wordpiece(lowercase):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=500, min_frequency=2, special_tokens=special, show_progress=False)
    made.train_from_iterator(lines, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.decoder = decoders.WordPiece(cleanup=True)
    return made


def encoded(tokenizer, text, pair=None):
    e = tokenizer.encode(text, pair)
    # Offsets count characters there, UTF-16 units in JavaScript.
    def unit(sequence, place):
        return len((text, pair)[sequence or 0][:place].encode("utf-16-le")) // 2

    offsets = [f"{unit(s, a)}-{unit(s, b)}" for s, (a, b) in zip(e.sequence_ids, e.offsets)]
    return {
        "ids": " ".join(map(str, e.ids)),
        "offsets": " ".join(offsets),
        "types": "".join(map(str, e.type_ids)),
        "decoded": tokenizer.decode(e.ids),
    }


expected = {}
for name, tokenizer in {"bpe": bpe, "wordpiece-lower": wordpiece(True), "wordpiece-cased": wordpiece(False)}.items():
    tokenizer.save(str(here.joinpath(f"{name}.json")))
    expected[name] = {
        "single": [encoded(tokenizer, s) for s in strings],
        "pair": [encoded(tokenizer, a, b) for a, b in zip(strings[::4], strings[3::4])],
    }
here.joinpath("expected.json").write_text(json.dumps(expected, indent=2) + "\n", encoding="utf-8")
