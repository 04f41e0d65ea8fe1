/**
 * Protocol buffers, as far as the files of other programs need them: the fields of a message with their places, and bytes to write.
 * A message is a list of fields, each a number and a value: an integer, 4 or 8 bytes, or a range of bytes (a text, a list of
 * numbers, a message). https://protobuf.dev/programming-guides/encoding
 */
import { concatBytes, type Refuse, utf8 } from "./refuse.ts";

/** A field of a message. */
export interface ProtoField {
  readonly number: number;
  /** 0: an integer; 1: 8 bytes; 2: a range; 5: 4 bytes. */
  readonly wire: 0 | 1 | 2 | 5;
  /** The integer of wire 0, as an unsigned number. */
  readonly integer: bigint;
  /** First byte of the field with its key, and the range [from, to) of its value. */
  readonly start: number;
  readonly from: number;
  readonly to: number;
}

/** A message in the bytes of a file: `base` is the byte of the file where `bytes` begin. */
export class ProtoMessage {
  readonly bytes: Uint8Array;
  readonly fields: readonly ProtoField[];
  readonly #refuse: Refuse;
  readonly #base: number;

  /** Throws a FormatError for bytes that are no message. */
  constructor(bytes: Uint8Array, refuse: Refuse, base = 0) {
    this.bytes = bytes;
    this.#refuse = refuse;
    this.#base = base;
    this.fields = parseFields(bytes, (at, what) => refuse("protobuf", base + at, what));
  }

  /** Throws a FormatError about this message. */
  refuse(what: string): never {
    return this.#refuse("protobuf", this.#base, what);
  }

  /** The fields of a number, in their order. */
  all(number: number): ProtoField[] {
    return this.fields.filter((field) => field.number === number);
  }

  /** The last field of a number, which counts. */
  last(number: number): ProtoField | undefined {
    return this.fields.findLast((field) => field.number === number);
  }

  /** An integer of a field; negative ones are stored as 64 bits. */
  integer(number: number): number | undefined {
    const field = this.last(number);
    if (field === undefined) return undefined;
    if (field.wire !== 0) return this.refuse(`field ${number} is no integer`);
    const value = Number(BigInt.asIntN(64, field.integer));
    return Number.isSafeInteger(value) ? value : this.refuse(`field ${number} is beyond 2^53`);
  }

  /** A float of 4 bytes. */
  float(number: number): number | undefined {
    const field = this.last(number);
    if (field === undefined) return undefined;
    if (field.wire !== 5) return this.refuse(`field ${number} is no float`);
    return new DataView(this.bytes.buffer, this.bytes.byteOffset + field.from, 4).getFloat32(0, true);
  }

  /** The bytes of a range. */
  range(field: ProtoField): Uint8Array {
    if (field.wire !== 2) this.refuse(`field ${field.number} is no range of bytes`);
    return this.bytes.subarray(field.from, field.to);
  }

  /** A text. */
  text(number: number): string | undefined {
    const field = this.last(number);
    return field && this.textOf(field);
  }

  /** The text of a field. */
  textOf(field: ProtoField): string {
    return utf8(this.range(field)) ?? this.refuse(`field ${field.number} is no UTF-8 text`);
  }

  /** The message of a field. */
  message(field: ProtoField): ProtoMessage {
    return new ProtoMessage(this.range(field), this.#refuse, this.#base + field.from);
  }

  /** The messages of a number. */
  messages(number: number): ProtoMessage[] {
    return this.all(number).map((field) => this.message(field));
  }
}

function parseFields(bytes: Uint8Array, no: (at: number, what: string) => never): ProtoField[] {
  const fields: ProtoField[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length) no(at, "the message ends inside a number");
      if (shift > 63n) no(at, "a number of more than 64 bits");
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const start = at;
    const key = varint();
    const [number, wire] = [Number(key >> 3n), Number(key & 7n)];
    if (number < 1 || number > 2 ** 29) no(start, `field ${number}`);
    let integer = 0n;
    let from = at;
    if (wire === 0) {
      integer = varint();
    } else if (wire === 1 || wire === 5) {
      at += wire === 1 ? 8 : 4;
    } else if (wire === 2) {
      const length = varint();
      from = at;
      if (length > BigInt(bytes.length - at))
        no(start, `field ${number} has ${length} bytes, more than the message`);
      at += Number(length);
    } else no(start, `field ${number} is of kind ${wire}, which heed does not read`);
    if (at > bytes.length) no(start, `field ${number} reaches beyond the message`);
    fields.push({ number, wire: wire as ProtoField["wire"], integer, start, from, to: at });
  }
  return fields;
}

/** The bytes of an integer. */
export function varintBytes(value: number | bigint): Uint8Array {
  const out: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    out.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Uint8Array.from(out);
}

/** A field of an integer. */
export const integerField = (number: number, value: number | bigint): Uint8Array =>
  concatBytes([varintBytes((number << 3) | 0), varintBytes(value)]);

/** A field of bytes, a text or a message. */
export function rangeField(number: number, value: Uint8Array | string): Uint8Array {
  const bytes = typeof value === "string" ? new TextEncoder().encode(value) : value;
  return concatBytes([varintBytes((number << 3) | 2), varintBytes(bytes.length), bytes]);
}
