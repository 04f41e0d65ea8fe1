/**
 * DEFLATE (RFC 1951) written here, for files that must have the same bytes on every engine: figures. Greedy matches over
 * a window of 32 KiB; each block of up to 32,768 symbols has its own Huffman codes. Input comes in parts of any length;
 * besides the output, only a buffer of two windows is kept. Inflating, and compression whose bytes may differ, are
 * left to the platform (deflate.ts).
 */

const WINDOW = 32_768;
/** Bytes of the buffer: the window of past input, and as many of new input. */
const CAPACITY = 2 * WINDOW;
const SHORTEST = 3;
const LONGEST = 258;
/** Maximum number of earlier offsets that are compared for a match. */
const CHAIN = 24;
const HASH_BITS = 15;
const SYMBOLS = 32_768;
const END = 256;

/** First length and extra bits of the codes 257 … 285, and first distance and extra bits of the codes 0 … 29. */
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const LENGTH_BASE = [...firsts(3, LENGTH_EXTRA.slice(0, 28)), 258];
const DISTANCE_EXTRA = Array.from({ length: 30 }, (_, i) => Math.max(0, (i >> 1) - 1));
const DISTANCE_BASE = firsts(1, DISTANCE_EXTRA);
/** Order in which the lengths of the code length codes are written. */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

function firsts(first: number, extra: readonly number[]): number[] {
  return extra.map((bits) => (first += 1 << bits) - (1 << bits));
}

/** The code a length (3 … 258) or a distance (1 … 32,768) has. */
const lengthCode = Uint8Array.from({ length: LONGEST + 1 }, (_, n) => lastNotAbove(LENGTH_BASE, n));
const nearCode = Uint8Array.from({ length: 257 }, (_, n) => lastNotAbove(DISTANCE_BASE, n));
const farCode = Uint8Array.from({ length: 257 }, (_, n) => lastNotAbove(DISTANCE_BASE, n * 128 + 1));
const distanceCode = (n: number) => (n <= 256 ? nearCode[n] : farCode[(n - 1) >> 7]);

function lastNotAbove(list: readonly number[], n: number): number {
  let at = list.length - 1;
  while (at > 0 && list[at] > n) at--;
  return at;
}

/** Compresses bytes that come in pieces. */
export interface Deflater {
  push(bytes: Uint8Array): void;
  /** What was pushed, as raw DEFLATE. Nothing may be pushed after it. */
  finish(): Uint8Array;
}

/** A new compressor. */
export function deflater(): Deflater {
  const out = bitWriter();
  const window = new Uint8Array(CAPACITY);
  /** Last offset in `window` of each hash of three bytes, plus 1; and for each offset the previous one of its hash. */
  const head = new Int32Array(1 << HASH_BITS);
  const before = new Int32Array(CAPACITY);
  const symbols = new Uint32Array(SYMBOLS);
  let count = 0;
  let [at, end] = [0, 0];

  const hash = (p: number) =>
    (Math.imul((window[p] << 16) | (window[p + 1] << 8) | window[p + 2], 0x9e3779b1) >>> (32 - HASH_BITS)) |
    0;
  const note = (p: number) => {
    if (p + SHORTEST > end) return;
    const h = hash(p);
    before[p] = head[h];
    head[h] = p + 1;
  };
  /** Drops all but the window before `at`. */
  const slide = () => {
    const drop = at - WINDOW;
    if (drop <= 0) return;
    window.copyWithin(0, drop, end);
    before.copyWithin(0, drop, end);
    for (let i = 0; i < head.length; i++) head[i] = Math.max(0, head[i] - drop);
    for (let i = 0; i < end - drop; i++) before[i] = Math.max(0, before[i] - drop);
    at -= drop;
    end -= drop;
  };
  /** Turns the buffer into symbols, up to `keep` bytes before its end. */
  const consume = (keep: number) => {
    while (at < end - keep) {
      let [length, distance] = [0, 0];
      const limit = Math.min(LONGEST, end - at);
      if (limit >= SHORTEST) {
        let p = head[hash(at)] - 1;
        for (let n = 0; n < CHAIN && p >= 0 && at - p <= WINDOW && length < limit; n++, p = before[p] - 1) {
          if (window[p + length] !== window[at + length]) continue;
          let same = 0;
          while (same < limit && window[p + same] === window[at + same]) same++;
          if (same > length) [length, distance] = [same, at - p];
        }
      }
      if (length < SHORTEST) [length, distance] = [1, 0];
      symbols[count++] = distance === 0 ? window[at] : ((distance - 1) << 9) | length | 0x8000_0000;
      for (const last = at + length; at < last; at++) note(at);
      if (count === SYMBOLS) {
        writeBlock(out, symbols, count, false);
        count = 0;
      }
    }
  };

  return {
    push(bytes) {
      for (let from = 0; from < bytes.length; ) {
        if (end === CAPACITY) {
          consume(LONGEST);
          slide();
        }
        const piece = bytes.subarray(from, from + CAPACITY - end);
        window.set(piece, end);
        end += piece.length;
        from += piece.length;
      }
    },
    finish() {
      consume(0);
      writeBlock(out, symbols, count, true);
      return out.finish();
    },
  };
}

/** Writes symbols as one block with codes of its own. */
function writeBlock(out: BitWriter, symbols: Uint32Array, count: number, last: boolean): void {
  const literals = new Uint32Array(286);
  const distances = new Uint32Array(30);
  literals[END] = 1;
  for (let i = 0; i < count; i++) {
    const symbol = symbols[i];
    if (symbol < 256) literals[symbol]++;
    else {
      literals[257 + lengthCode[symbol & 511]]++;
      distances[distanceCode(((symbol & 0x7fff_ffff) >>> 9) + 1)]++;
    }
  }
  const literal = huffman(literals, 15);
  const distance = huffman(distances, 15);
  const nLiteral = Math.max(257, 1 + lastUsed(literal.lengths));
  const nDistance = Math.max(1, 1 + lastUsed(distance.lengths));
  const runs = runsOf([...literal.lengths.subarray(0, nLiteral), ...distance.lengths.subarray(0, nDistance)]);
  const used = new Uint32Array(19);
  for (const [code] of runs) used[code]++;
  const lengths = huffman(used, 7);
  const nLengths = Math.max(4, 1 + ORDER.findLastIndex((code) => lengths.lengths[code] > 0));

  out.bits(last ? 1 : 0, 1);
  out.bits(2, 2);
  out.bits(nLiteral - 257, 5);
  out.bits(nDistance - 1, 5);
  out.bits(nLengths - 4, 4);
  for (const code of ORDER.slice(0, nLengths)) out.bits(lengths.lengths[code], 3);
  for (const [code, extra, bits] of runs) {
    out.bits(lengths.codes[code], lengths.lengths[code]);
    out.bits(extra, bits);
  }
  for (let i = 0; i < count; i++) {
    const symbol = symbols[i];
    if (symbol < 256) {
      out.bits(literal.codes[symbol], literal.lengths[symbol]);
      continue;
    }
    const n = symbol & 511;
    const code = lengthCode[n];
    out.bits(literal.codes[257 + code], literal.lengths[257 + code]);
    out.bits(n - LENGTH_BASE[code], LENGTH_EXTRA[code]);
    const far = ((symbol & 0x7fff_ffff) >>> 9) + 1;
    const place = distanceCode(far);
    out.bits(distance.codes[place], distance.lengths[place]);
    out.bits(far - DISTANCE_BASE[place], DISTANCE_EXTRA[place]);
  }
  out.bits(literal.codes[END], literal.lengths[END]);
}

const lastUsed = (lengths: Uint8Array) => lengths.findLastIndex((length) => length > 0);

/** Code lengths run by run: [code, extra bits' value, how many extra bits]. */
function runsOf(lengths: readonly number[]): [code: number, extra: number, bits: number][] {
  const runs: [number, number, number][] = [];
  for (let i = 0; i < lengths.length; ) {
    const value = lengths[i];
    let n = 1;
    while (i + n < lengths.length && lengths[i + n] === value) n++;
    i += n;
    if (value > 0) {
      runs.push([value, 0, 0]);
      n--;
    }
    for (; n >= 3; ) {
      const limit = value > 0 ? 6 : 138;
      const count = Math.min(n, limit);
      runs.push(value > 0 ? [16, count - 3, 2] : count <= 10 ? [17, count - 3, 3] : [18, count - 11, 7]);
      n -= count;
    }
    for (; n > 0; n--) runs.push([value, 0, 0]);
  }
  return runs;
}

/** Canonical Huffman codes of at most `limit` bits, already reversed for writing; lengths of 0 where a symbol is not used. */
function huffman(counts: Uint32Array, limit: number): { lengths: Uint8Array; codes: Uint16Array } {
  const lengths = new Uint8Array(counts.length);
  const codes = new Uint16Array(counts.length);
  const used = [...counts.keys()].filter((i) => counts[i] > 0).sort((a, b) => counts[a] - counts[b] || a - b);
  const perLength = new Uint32Array(limit + 2);
  for (const depth of depthsOf(used.map((i) => counts[i]))) perLength[Math.min(depth, limit)]++;
  // Codes cut to the limit exceed the code space: pairs of the longest free space by lengthening a shorter one.
  let capacity = 0;
  for (let n = 1; n <= limit; n++) capacity += perLength[n] << (limit - n);
  while (capacity > 1 << limit) {
    perLength[limit]--;
    for (let n = limit - 1; n > 0; n--)
      if (perLength[n] > 0) {
        perLength[n]--;
        perLength[n + 1] += 2;
        break;
      }
    capacity--;
  }
  // The rarest symbols get the longest codes.
  let next = 0;
  for (let n = limit; n > 0; n--) for (let m = perLength[n]; m > 0; m--) lengths[used[next++]] = n;
  const first = new Uint32Array(limit + 2);
  for (let n = 1; n <= limit; n++) first[n + 1] = (first[n] + perLength[n]) << 1;
  for (let i = 0; i < counts.length; i++)
    if (lengths[i] > 0) codes[i] = reversed(first[lengths[i]]++, lengths[i]);
  return { lengths, codes };
}

/** Depth in Huffman's tree of each of some counts in ascending order: two queues, van Leeuwen (1976). */
function depthsOf(counts: readonly number[]): Uint32Array {
  const n = counts.length;
  if (n <= 1) return new Uint32Array(n).fill(1);
  const sums: number[] = [];
  const parent = new Uint32Array(2 * n - 1);
  let [leaf, node] = [0, 0];
  const addNode = (sum: number) => {
    const isLeaf = leaf < n && (node >= sums.length || counts[leaf] <= sums[node]);
    parent[isLeaf ? leaf : n + node] = n + sums.length;
    return sum + (isLeaf ? counts[leaf++] : sums[node++]);
  };
  while (sums.length < n - 1) sums.push(addNode(addNode(0)));
  const depth = new Uint32Array(2 * n - 1);
  for (let i = 2 * n - 3; i >= 0; i--) depth[i] = depth[parent[i]] + 1;
  return depth.subarray(0, n);
}

function reversed(code: number, bits: number): number {
  let back = 0;
  for (; bits > 0; bits--, code >>= 1) back = (back << 1) | (code & 1);
  return back;
}

interface BitWriter {
  /** Writes the low `count` bits (at most 16) of a value. */
  bits(value: number, count: number): void;
  finish(): Uint8Array;
}

function bitWriter(): BitWriter {
  let bytes = new Uint8Array(1 << 16);
  let [length, pending, waiting] = [0, 0, 0];
  const byte = (value: number) => {
    if (length === bytes.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(bytes);
      bytes = larger;
    }
    bytes[length++] = value;
  };
  return {
    bits(value, count) {
      pending |= value << waiting;
      waiting += count;
      for (; waiting >= 8; waiting -= 8, pending >>>= 8) byte(pending & 255);
    },
    finish() {
      if (waiting > 0) byte(pending & 255);
      return bytes.slice(0, length);
    },
  };
}
