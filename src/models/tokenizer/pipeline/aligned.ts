/**
 * A text in a tokenizer's pipeline: its current form, and for every UTF-16 unit the corresponding range of the original text. The
 * rules are those of Hugging Face's tokenizers (normalizer.rs): an inserted character is aligned with the one before it, a
 * replacement of several with the first of them.
 */

/** A text aligned with the original. Immutable. */
export class Aligned {
  readonly text: string;
  /** Start and end of unit i in the original; undefined: base + i and base + i + 1. */
  readonly #starts?: Int32Array;
  readonly #ends?: Int32Array;
  readonly #base: number;

  constructor(text: string, base = 0, starts?: Int32Array, ends?: Int32Array) {
    this.text = text;
    this.#base = base;
    this.#starts = starts;
    this.#ends = ends;
  }

  /** Where the range of unit `i` begins in the original. */
  startOf(i: number): number {
    return this.#starts ? this.#starts[i] : this.#base + i;
  }

  /** Where the range of unit `i` ends in the original. */
  endOf(i: number): number {
    if (this.#ends) return this.#ends[i];
    return this.#base + i + 1;
  }

  /** Where the text begins in the original. */
  get start(): number {
    return this.text.length === 0 ? this.#base : this.startOf(0);
  }

  /** Units [from, to). */
  slice(from: number, to: number): Aligned {
    if (from === 0 && to === this.text.length) return this;
    const text = this.text.slice(from, to);
    if (!this.#starts) return new Aligned(text, this.#base + from);
    const base = from < this.text.length ? this.#starts[from] : this.#base;
    return new Aligned(text, base, this.#starts.subarray(from, to), this.#ends!.subarray(from, to));
  }

  /** Replaces every character with the result of `change`; undefined keeps it. */
  map(change: (character: string) => string | undefined): Aligned {
    let edit: AlignedEdit | undefined;
    let at = 0;
    for (const character of this.text) {
      const replacement = change(character);
      const end = at + character.length;
      if (replacement !== undefined && replacement !== character) {
        edit ??= new AlignedEdit(this, at);
        edit.put(replacement, at, end);
      } else edit?.keep(at, end);
      at = end;
    }
    return edit?.done() ?? this;
  }

  /** Replaces every match, none empty, with `content`. */
  replace(matches: Iterable<readonly [from: number, to: number]>, content: string): Aligned {
    let edit: AlignedEdit | undefined;
    let done = 0;
    for (const [from, to] of matches) {
      edit ??= new AlignedEdit(this, 0);
      edit.keep(done, from);
      // The content is aligned with the last character of the match.
      const last = isTail(this.text, to - 1) ? to - 2 : to - 1;
      edit.putAt(content, this.startOf(last), this.endOf(to - 1));
      done = to;
    }
    if (!edit) return this;
    edit.keep(done, this.text.length);
    return edit.done();
  }

  /** Prepends a text, aligned with the first character. */
  prepend(content: string): Aligned {
    if (this.text === "") return this;
    const edit = new AlignedEdit(this, 0);
    edit.putAt(content, this.startOf(0), this.endOf(isLead(this.text, 0) ? 1 : 0));
    edit.keep(0, this.text.length);
    return edit.done();
  }
}

/** Builds an Aligned from parts of another. */
export class AlignedEdit {
  readonly #from: Aligned;
  #text: string[];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** @param kept units at the beginning that stay unchanged */
  constructor(from: Aligned, unchanged = 0) {
    this.#from = from;
    this.#text = [];
    this.keep(0, unchanged);
  }

  /** Keeps units [from, to). */
  keep(from: number, to: number): void {
    if (from >= to) return;
    this.#text.push(this.#from.text.slice(from, to));
    for (let i = from; i < to; i++) {
      this.#starts.push(this.#from.startOf(i));
      this.#ends.push(this.#from.endOf(i));
    }
  }

  /**
   * Replaces units [from, to): the characters of `content` are aligned one by one with those that they replace, further ones with
   * the last, and an insertion with the character before.
   */
  put(content: string, from: number, to: number): void {
    if (from === to) {
      const before = this.#starts.length - 1;
      const at = this.#from.start;
      this.putAt(content, before < 0 ? at : this.#starts[before], before < 0 ? at : this.#ends[before]);
      return;
    }
    let at = from;
    for (const character of content) {
      const end = Math.min(to, at + (isLead(this.#from.text, at) ? 2 : 1));
      this.putAt(character, this.#from.startOf(at), this.#from.endOf(end - 1));
      if (end < to) at = end;
    }
  }

  /** Adds a text aligned with a range of the original. */
  putAt(content: string, start: number, end: number): void {
    this.#text.push(content);
    for (let i = 0; i < content.length; i++) {
      this.#starts.push(start);
      this.#ends.push(end);
    }
  }

  done(): Aligned {
    const starts = Int32Array.from(this.#starts);
    return new Aligned(this.#text.join(""), this.#from.start, starts, Int32Array.from(this.#ends));
  }
}

/** True for the second half of a surrogate pair. */
function isTail(text: string, at: number): boolean {
  return at > 0 && isLead(text, at - 1);
}

/** True at the first half of a surrogate pair. */
function isLead(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00 && at + 1 < text.length;
}
