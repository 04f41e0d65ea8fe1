/**
 * An n-gram model with interpolated Kneser–Ney smoothing (Kneser and Ney 1995; Chen and Goodman 1998, section 2.7): the
 * baseline that a trained model must beat on the same tokens.
 *
 *     P_k(w | h) = max(c(hw) − D_k, 0) / c(h·) + D_k · types(h·) / c(h·) · P_{k−1}(w | h without its first token)
 *
 * c counts occurrences at the highest order and distinct left neighbors below it; P_0 is uniform; D_k = n₁ / (n₁ + 2·n₂),
 * where n_r n-grams of order k have c = r.
 *
 * All n-grams up to the order are nodes of one trie. A node is identified by its parent and a token, in one hash table.
 */
import { checkArgument, checkCount, checkInteger } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import { mix } from "../../core/random/random.ts";
import { checkIds } from "../../nn/ops/lookup.ts";
import { checkSpans, type Span } from "./data.ts";

/**
 * An n-gram model over token ids.
 *
 * @example
 * const bigram = new Ngram(2, 3, Int32Array.of(0, 1, 0, 1, 2), [{ start: 0, end: 5 }]);
 * bigram.logProbabilities(Int32Array.of(0, 1)).length; // → 2
 */
export class Ngram {
  /** Tokens of the longest n-gram, including the predicted token. */
  readonly order: number;
  /** Number of token ids. */
  readonly vocabulary: number;
  readonly #trie: Trie;
  /** By node: c of its n-gram; the sum of c over its children; the number of children with c > 0. */
  readonly #count: Uint32Array;
  readonly #total: Float64Array;
  readonly #types: Uint32Array;
  /** D by order. */
  readonly #discount: Float64Array;

  /** Counts the n-grams within each of the `spans` of `ids`. */
  constructor(order: number, vocabulary: number, ids: Int32Array, spans: readonly Span[]) {
    checkCount("Ngram", arguments, 4);
    checkInteger("Ngram", "order", order, 1, 8);
    checkInteger("Ngram", "vocabulary", vocabulary, 1, 2 ** 31);
    checkSpans("Ngram", ids, spans);
    checkIds(ids, vocabulary, "Ngram", "the vocabulary has ids");
    this.order = order;
    this.vocabulary = vocabulary;
    const trie = new Trie(vocabulary);
    this.#trie = trie;
    // ends[k]: the node of the k-gram that ends at the last token; at the start of a span only ends[0], the root, is valid.
    const ends = new Int32Array(order + 1);
    for (const { start, end } of spans)
      for (let i = start; i < end; i++) {
        const longest = Math.min(order, i - start + 1);
        let added = 0; // bit k: this k-gram is new
        for (let k = longest; k >= 1; k--) {
          const size = trie.size;
          ends[k] = trie.enter(ends[k - 1], ids[i], k);
          if (ends[k] === size) added |= 1 << k;
        }
        if (longest === order) trie.count[ends[order]]++;
        for (let k = longest; k >= 2; k--) if (added & (1 << k)) trie.count[ends[k - 1]]++;
      }
    this.#count = trie.count;
    this.#total = new Float64Array(trie.size);
    this.#types = new Uint32Array(trie.size);
    const once = new Float64Array(order + 1);
    const twice = new Float64Array(order + 1);
    for (let node = 1; node < trie.size; node++) {
      const [c, depth, parent] = [trie.count[node], trie.depth[node], trie.parent[node]];
      if (c === 0) continue;
      this.#total[parent] += c;
      this.#types[parent]++;
      if (c === 1) once[depth]++;
      if (c === 2) twice[depth]++;
    }
    this.#discount = once.map((n1, k) => (n1 === 0 ? 0.5 : n1 / (n1 + 2 * twice[k])));
  }

  /** ln P(ids[i] | the ids before it), for each i. */
  logProbabilities(ids: Int32Array): Float64Array {
    checkCount("Ngram.logProbabilities", arguments, 1);
    checkArgument(ids instanceof Int32Array, "Ngram.logProbabilities", "token ids, an Int32Array", ids);
    checkIds(ids, this.vocabulary, "Ngram.logProbabilities", "the vocabulary has ids");
    const trie = this.#trie;
    const ends = new Int32Array(this.order + 1);
    const logs = new Float64Array(ids.length);
    for (let i = 0; i < ids.length; i++) {
      const longest = Math.min(this.order, i + 1);
      let p = 1 / this.vocabulary;
      for (let k = 1; k <= longest; k++) {
        const context = ends[k - 1]; // of the k − 1 tokens before
        const total = context < 0 ? 0 : this.#total[context];
        if (total === 0) continue;
        const node = trie.find(context, ids[i]);
        const c = node < 0 ? 0 : this.#count[node];
        const discount = this.#discount[k];
        p = (Math.max(c - discount, 0) + discount * this.#types[context] * p) / total;
      }
      logs[i] = Math.log(p);
      for (let k = longest; k >= 1; k--) ends[k] = ends[k - 1] < 0 ? -1 : trie.find(ends[k - 1], ids[i]);
    }
    return logs;
  }

  /**
   * Mean −ln P in nats over the tokens of `sequences` for which `counts` is true, each given the tokens before it in its
   * sequence; by default over all but the first token of each, as the loss of a decoder.
   */
  loss(
    sequences: readonly Int32Array[],
    counts: (sequence: number, i: number) => boolean = (_, i) => i > 0,
  ): number {
    checkCount("Ngram.loss", arguments, 2);
    checkArgument(Array.isArray(sequences), "Ngram.loss", "a list of sequences, [Int32Array]", sequences);
    checkArgument(typeof counts === "function", "Ngram.loss", "a function as the second argument", counts);
    let sum = 0;
    let n = 0;
    sequences.forEach((ids, sequence) => {
      const logs = this.logProbabilities(ids);
      for (let i = 0; i < logs.length; i++)
        if (checkKind("Ngram.loss", "the result of the function", "true or false", counts(sequence, i))) {
          sum -= logs[i];
          n++;
        }
    });
    checkInteger("Ngram.loss", "the number of tokens that count", n, 1);
    return sum / n;
  }
}

/** A trie in flat arrays. Node 0 is the root. */
class Trie {
  size = 1;
  parent = new Int32Array(1 << 12);
  depth = new Uint8Array(1 << 12);
  count = new Uint32Array(1 << 12);
  readonly #vocabulary: number;
  /** parent · vocabulary + token by node, an exact integer below 2⁵³. */
  #key = new Float64Array(1 << 12);
  /** Hash table with open addressing: nodes, or 0 for a free slot. At most half full. */
  #slots = new Int32Array(1 << 13);

  constructor(vocabulary: number) {
    this.#vocabulary = vocabulary;
  }

  /** The child of `parent` under `token`, or −1. */
  find(parent: number, token: number): number {
    return this.#slots[this.#slotOf(parent * this.#vocabulary + token)] || -1;
  }

  /** The child of `parent` under `token`; it is created if missing. */
  enter(parent: number, token: number, depth: number): number {
    const key = parent * this.#vocabulary + token;
    const slot = this.#slotOf(key);
    if (this.#slots[slot] !== 0) return this.#slots[slot];
    if (this.size === this.parent.length) this.#grow();
    const node = this.size++;
    this.parent[node] = parent;
    this.depth[node] = depth;
    this.#key[node] = key;
    this.#slots[this.#slotOf(key)] = node;
    return node;
  }

  /** The slot of `key`, or the free slot for it. */
  #slotOf(key: number): number {
    const mask = this.#slots.length - 1;
    let at = mix((key | 0) ^ Math.imul(Math.floor(key / 2 ** 32), 0x9e3779b1)) & mask;
    while (this.#slots[at] !== 0 && this.#key[this.#slots[at]] !== key) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const length = 2 * this.parent.length;
    this.parent = moved(this.parent, new Int32Array(length));
    this.depth = moved(this.depth, new Uint8Array(length));
    this.count = moved(this.count, new Uint32Array(length));
    this.#key = moved(this.#key, new Float64Array(length));
    this.#slots = new Int32Array(2 * length);
    for (let node = 1; node < this.size; node++) this.#slots[this.#slotOf(this.#key[node])] = node;
  }
}

function moved<T extends Int32Array | Uint8Array | Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from as never);
  return to;
}
