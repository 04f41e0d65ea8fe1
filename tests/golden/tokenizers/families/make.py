"""Tokenizers of the model families in small, and what Hugging Face's library makes of ../strings.json: python make.py.

With tokenizers 0.23.3, and sentencepiece 0.2 for the compiled normalization of `xlm-roberta`. Each is trained on
../corpus.txt with the parts that the family's published tokenizer.json has.
"""

import io, json, tempfile
from pathlib import Path

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

here = Path(__file__).parent
lines = here.joinpath("../corpus.txt").read_text(encoding="utf-8").split("\n")
strings = json.loads(here.joinpath("../strings.json").read_text(encoding="utf-8"))

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# Possessive, as tiktoken publishes it: the counting matcher runs it.
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"


def bpe(pattern=None, normalizer=None, size=420, special=("<|begin|>", "<|end|>"), ignore_merges=False, use_regex=False, prefix=False):
    made = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        made.normalizer = normalizer
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex, trim_offsets=True)
    made.pre_tokenizer = level if pattern is None else pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), level])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False,
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return made


def llama3():
    made = bpe(LLAMA3, ignore_merges=True)
    made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), processors.TemplateProcessing(
        single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1", special_tokens=[("<|begin|>", 0)])])
    return made


def qwen2():
    made = bpe(QWEN2, normalizers.NFC())
    made.add_tokens([AddedToken("<tool>", special=False, normalized=False), AddedToken("mat", special=False, normalized=True)])
    made.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    return made


def roberta():
    made = bpe(use_regex=True, special=("<s>", "<pad>", "</s>", "<unk>"))
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return made


def fallback(prepend=True, scheme=None, fuse=True):
    """Llama 2, Mistral, Gemma: SentencePiece's BPE with bytes for what is unknown."""
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=200, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False))
    model = json.loads(trained.to_str())["model"]
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    pieces = [t for t, _ in sorted(model["vocab"].items(), key=lambda it: it[1]) if t not in special]
    vocab = {t: i for i, t in enumerate(special + pieces)}
    merges = [tuple(m) if not isinstance(m, str) else tuple(m.split(" ")) for m in model["merges"]]
    made = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=fuse, byte_fallback=True))
    if scheme:
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    else:
        steps = [normalizers.Prepend("▁")] if prepend else []
        made.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", "▁")])
        if not prepend:
            made.normalizer = normalizers.Replace(" ", "▁")
            made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    made.add_special_tokens([AddedToken(t, normalized=False) for t in ["<unk>", "<s>", "</s>"]])
    made.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    strip = [decoders.Strip(" ", 1, 0)] if prepend else []
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + strip)
    return made


def unigram(charsmap):
    made = Tokenizer(models.Unigram())
    steps = [normalizers.Replace(Regex(" {2,}"), " ")]
    made.normalizer = normalizers.Sequence(([normalizers.Precompiled(charsmap)] if charsmap else [normalizers.Nmt(), normalizers.NFKC()]) + steps)
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.train_from_iterator(lines, trainers.UnigramTrainer(vocab_size=260, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return made


def charsmap():
    """A small table: the published one has 240 kB. Full-width forms, ligatures, e and an accent, white space; one that drops."""
    rules = {**{chr(0xFF01 + n): chr(0x21 + n) for n in range(94)}, "ﬁ": "fi", "ﬂ": "fl", "e\u0301": "é", "\u00a0": " ", "\u3000": " ", "\t": " ", "\u200b": "", "½": "1⁄2", "한": "\u1112\u1161\u11ab"}
    row = lambda text: " ".join(f"{ord(c):X}" for c in text)
    table = Path(tempfile.mkdtemp()) / "rules.tsv"
    table.write_text("".join(f"{row(a)}\t{row(b)}\n" for a, b in rules.items()))
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=file, vocab_size=200, normalization_rule_tsv=str(table), minloglevel=2, hard_vocab_limit=False)
    from sentencepiece import sentencepiece_model_pb2 as pb
    return pb.ModelProto.FromString(file.getvalue()).normalizer_spec.precompiled_charsmap


def mpnet():
    special = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]"]
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False))
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    made.decoder = decoders.WordPiece(cleanup=True)
    return made


def clip():
    made = Tokenizer(models.BPE(unk_token="<end>", end_of_word_suffix="</w>", continuing_subword_prefix=""))
    made.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    made.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=700, special_tokens=["<start>", "<end>"], end_of_word_suffix="</w>",
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    made.post_processor = processors.RobertaProcessing(("<end>", 1), ("<start>", 0), trim_offsets=False, add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


def words():
    """Parts that no family above has."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Strip()])
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("contiguous")])
    made.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    made.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    made.decoder = decoders.WordPiece(cleanup=False)
    return made


def encoded(tokenizer, text, pair=None):
    e = tokenizer.encode(text, pair)
    # Offsets count characters there, UTF-16 units in JavaScript.
    def unit(sequence, place):
        return len((text, pair)[sequence or 0][:place].encode("utf-16-le")) // 2

    offsets = [f"{unit(s, a)}-{unit(s, b)}" for s, (a, b) in zip(e.sequence_ids, e.offsets)]
    return {"ids": " ".join(map(str, e.ids)), "offsets": " ".join(offsets), "types": "".join(map(str, e.type_ids)), "decoded": tokenizer.decode(e.ids)}


MADE = {
    "llama3": llama3, "qwen2": qwen2, "o200k": lambda: bpe(O200K), "cl100k-possessive": lambda: bpe(CL100K), "roberta": roberta,
    "llama2": fallback, "mistral-first": lambda: fallback(scheme="first"), "gemma": lambda: fallback(prepend=False),
    "xlm-roberta": lambda: unigram(charsmap()), "unigram-nmt": lambda: unigram(None), "mpnet": mpnet, "clip": clip, "words": words,
}

if __name__ == "__main__":
    expected = {}
    for name, make in MADE.items():
        tokenizer = make()
        here.joinpath(f"{name}.json").write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
        expected[name] = {"single": [encoded(tokenizer, s) for s in strings[::2]], "pair": [encoded(tokenizer, a, b) for a, b in zip(strings[::8], strings[3::8])]}
    here.joinpath("expected.json").write_text(json.dumps(expected, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
