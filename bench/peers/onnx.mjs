/**
 * The part of ONNX's file format that a few small graphs need, written straight as protocol buffers.
 * Field numbers are those of onnx.proto3 (onnx/onnx). Leaves to others: which graphs (onnx-graphs.mjs).
 */

const text = new TextEncoder();

/** Bytes in the order they are put in. */
class Message {
  #head = [];
  #parts = [];

  #flush() {
    if (this.#head.length === 0) return;
    this.#parts.push(Uint8Array.from(this.#head));
    this.#head = [];
  }

  /** Base-128, low groups first. @param {number} value a non-negative integer */
  #varint(value) {
    let rest = value;
    while (rest >= 128) {
      this.#head.push((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    this.#head.push(rest);
  }

  int(field, value) {
    this.#varint(field * 8);
    this.#varint(value);
    return this;
  }

  float(field, value) {
    this.#varint(field * 8 + 5);
    this.#head.push(...new Uint8Array(Float32Array.of(value).buffer));
    return this;
  }

  bytes(field, value) {
    const raw =
      typeof value === "string" ? text.encode(value) : value instanceof Message ? value.done() : value;
    this.#varint(field * 8 + 2);
    this.#varint(raw.length);
    this.#flush();
    this.#parts.push(raw);
    return this;
  }

  done() {
    this.#flush();
    const out = new Uint8Array(this.#parts.reduce((n, part) => n + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

/** TensorProto.DataType. */
const TYPES = { float32: 1, int32: 6, bool: 9 };

export function node(op, from, to, { ints = {}, domain = "" } = {}) {
  const message = new Message();
  for (const name of from) message.bytes(1, name);
  for (const name of to) message.bytes(2, name);
  message.bytes(3, `${op} ${to[0]}`).bytes(4, op);
  for (const [name, value] of Object.entries(ints)) {
    const attribute = new Message().bytes(1, name);
    if (Array.isArray(value)) for (const one of value) attribute.int(8, one);
    else attribute.int(3, value);
    message.bytes(5, attribute.int(20, Array.isArray(value) ? 7 : 2));
  }
  return domain === "" ? message : message.bytes(7, domain);
}

/** A constant of the graph. */
export function constant(name, type, dims, data) {
  const message = new Message();
  for (const n of dims) message.int(1, n);
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return message.int(2, TYPES[type]).bytes(8, name).bytes(9, raw);
}

/** What the graph says of an input or output. */
export function port(name, type, dims) {
  const shape = new Message();
  for (const n of dims)
    shape.bytes(1, typeof n === "string" ? new Message().bytes(2, n) : new Message().int(1, n));
  const tensor = new Message().int(1, TYPES[type]).bytes(2, shape);
  return new Message().bytes(1, name).bytes(2, new Message().bytes(1, tensor));
}

/** A model. */
export function model({ nodes, constants, inputs, outputs, opset }) {
  const graph = new Message();
  for (const one of nodes) graph.bytes(1, one);
  graph.bytes(2, "attention");
  for (const one of constants) graph.bytes(5, one);
  for (const one of inputs) graph.bytes(11, one);
  for (const one of outputs) graph.bytes(12, one);
  const microsoft = new Message().bytes(1, "com.microsoft").int(2, 1);
  return new Message()
    .int(1, 10)
    .bytes(2, "heed-peers")
    .bytes(7, graph)
    .bytes(8, new Message().int(2, opset))
    .bytes(8, microsoft)
    .done();
}
