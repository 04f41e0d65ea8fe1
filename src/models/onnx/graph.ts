/**
 * The graph of an ONNX file, read in part: nodes, small constants, names of inputs and outputs. Weights are skipped, whatever their
 * size. https://github.com/onnx/onnx, onnx/onnx.proto.
 */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import { ProtoMessage } from "../../io/protobuf.ts";
import { refuser } from "../../io/refuse.ts";
import type { Source } from "../../io/source.ts";

const WHAT = "exposeAttention";
/** Bytes that are read at a time to find fields. */
const WINDOW = 2 ** 16;
/** Largest constant that is read: scales are numbers. */
const SMALL = 1024;
/** Largest node that is read, and their largest number. */
const MAX_NODE = 2 ** 20;
const MAX_NODES = 2 ** 18;

/** A node of the graph. */
export interface OnnxNode {
  readonly name: string;
  readonly op: string;
  /** Empty for the standard operators. */
  readonly domain: string;
  /** Names of tensors; empty for an optional one that is left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: ReadonlyMap<string, number | string | ProtoMessage>;
}

/** A graph and the places in its file. */
export interface OnnxGraph {
  readonly nodes: readonly OnnxNode[];
  /** The node that computes a tensor. */
  readonly producers: ReadonlyMap<string, OnnxNode>;
  /** The nodes that read a tensor. */
  readonly consumers: ReadonlyMap<string, readonly OnnxNode[]>;
  /** Constants of one number. */
  readonly scalars: ReadonlyMap<string, number>;
  /** Versions of operators by domain. */
  readonly opsets: ReadonlyMap<string, number>;
  /** Names of the outputs. */
  readonly outputs: ReadonlySet<string>;
  /** Bytes of the file: the field of the graph with its key, and its content. */
  readonly place: { readonly start: number; readonly from: number; readonly to: number };
}

/** A field of a message in a file. */
interface FileField {
  readonly number: number;
  readonly wire: number;
  readonly start: number;
  readonly from: number;
  readonly to: number;
}

/** The fields of the message in bytes [from, to), without their content. */
async function* fieldsIn(source: Source, from: number, to: number): AsyncGenerator<FileField> {
  const refuse = refuser(WHAT);
  let base = from;
  let bytes: Uint8Array = new Uint8Array();
  for (let at = from; at < to; ) {
    // A key and a length take at most 20 bytes.
    if (at < base || at + 20 > base + bytes.length) {
      base = at;
      bytes = await source.read(base, Math.min(WINDOW, to - base));
    }
    let next = at;
    const varint = (): number => {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = bytes[next - base];
        if (byte === undefined) return refuse("onnx", next, "the file ends inside a number");
        next++;
        value += (byte & 127) * scale;
        if (byte < 128) return value;
        if (scale > 2 ** 63) return refuse("onnx", at, "a number of more than 64 bits");
      }
    };
    const key = varint();
    const [number, wire] = [Math.floor(key / 8), key % 8];
    let content = next;
    if (wire === 0) {
      varint();
    } else if (wire === 1 || wire === 5) next += wire === 1 ? 8 : 4;
    else if (wire === 2) {
      const length = varint();
      content = next;
      next += length;
    } else refuse("onnx", at, "not an ONNX file: a field of an unknown kind");
    if (number < 1 || !(next <= to))
      refuse("onnx", at, "not an ONNX file, or it is cut: a field reaches beyond its message");
    yield { number, wire, start: at, from: content, to: next };
    at = next;
  }
}

/** Reads a graph. Throws a FormatError for a malformed file, an UnsupportedError for one without a graph of nodes. */
export async function readGraph(source: Source): Promise<OnnxGraph> {
  const refuse = refuser(WHAT);
  let place: OnnxGraph["place"] | undefined;
  const opsets = new Map<string, number>();
  const message = async ({ from, to }: FileField, limit: number) => {
    if (to - from > limit) return undefined;
    return new ProtoMessage(await source.read(from, to - from), refuse, from);
  };
  for await (const field of fieldsIn(source, 0, source.size)) {
    if (field.number === 7 && field.wire === 2) place = field;
    if (field.number === 8) {
      const opset = await message(field, SMALL);
      if (opset) opsets.set(opset.text(1) ?? "", opset.integer(2) ?? 0);
    }
  }
  if (place === undefined || opsets.size === 0)
    throw new FormatError(
      "onnx",
      `${WHAT}: not an ONNX file: there is no graph with versions of its operators`,
    );
  const nodes: OnnxNode[] = [];
  const scalars = new Map<string, number>();
  const outputs = new Set<string>();
  for await (const field of fieldsIn(source, place.from, place.to)) {
    if (field.number === 1) {
      const node = await message(field, MAX_NODE);
      if (node) nodes.push(nodeOf(node));
      if (nodes.length > MAX_NODES) refuse("onnx", field.start, `more than ${MAX_NODES} nodes`);
    } else if (field.number === 5) {
      const tensor = await message(field, SMALL);
      const value = tensor && scalarOf(tensor);
      if (tensor && value !== undefined) scalars.set(tensor.text(8) ?? "", value);
    } else if (field.number === 12) {
      const output = await message(field, MAX_NODE);
      outputs.add(output?.text(1) ?? "");
    }
  }
  if (nodes.length === 0) throw new UnsupportedError("onnx", `${WHAT}: the graph has no nodes`);
  const producers = new Map<string, OnnxNode>();
  const consumers = new Map<string, OnnxNode[]>();
  for (const node of nodes) {
    for (const name of node.outputs) producers.set(name, node);
    for (const name of new Set(node.inputs)) consumers.set(name, [...(consumers.get(name) ?? []), node]);
    const value = node.op === "Constant" ? node.attributes.get("value") : undefined;
    const number =
      value instanceof ProtoMessage
        ? scalarOf(value)
        : node.op === "Constant"
          ? node.attributes.get("value_float")
          : undefined;
    if (typeof number === "number") scalars.set(node.outputs[0], number);
  }
  return { nodes, producers, consumers, scalars, opsets, outputs, place };
}

function nodeOf(message: ProtoMessage): OnnxNode {
  const texts = (number: number) => message.all(number).map((field) => message.textOf(field));
  const attributes = new Map<string, number | string | ProtoMessage>();
  for (const attribute of message.messages(5)) {
    const [float, integer, text] = [attribute.float(2), attribute.integer(3), attribute.last(4)];
    const tensor = attribute.last(5);
    const value = tensor
      ? attribute.message(tensor)
      : text
        ? String.fromCharCode(...attribute.range(text).subarray(0, SMALL))
        : // Both are 0 where the file leaves out a value of 0.
          attribute.integer(20) === 1
          ? (float ?? 0)
          : (integer ?? float ?? 0);
    attributes.set(attribute.text(1) ?? "", value);
  }
  return {
    name: message.text(3) ?? "",
    op: message.text(4) ?? "",
    domain: message.text(7) ?? "",
    inputs: texts(1),
    outputs: texts(2),
    attributes,
  };
}

/** The number of a tensor that holds one; undefined for any other. */
function scalarOf(tensor: ProtoMessage): number | undefined {
  const type = tensor.integer(2);
  const raw = tensor.last(9);
  if (raw) {
    const bytes = tensor.range(raw);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (type === 1 && bytes.length === 4) return view.getFloat32(0, true);
    if (type === 11 && bytes.length === 8) return view.getFloat64(0, true);
    return undefined;
  }
  const packed = tensor.last(type === 1 ? 4 : 10);
  if (packed === undefined || (type !== 1 && type !== 11)) return undefined;
  const bytes = packed.wire === 2 ? tensor.range(packed) : tensor.bytes.subarray(packed.from, packed.to);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (type === 1 && bytes.length === 4) return view.getFloat32(0, true);
  return type === 11 && bytes.length === 8 ? view.getFloat64(0, true) : undefined;
}
