/**
 * Adds the queries, keys, values and masks of every attention in an ONNX model to its outputs. Nodes and outputs are added at the end
 * of the graph and nothing else changes: the file is copied in slices, so weights never are in memory as a whole, and files beside it
 * that hold weights stay where they are.
 */
import { checkCount, FormatError, UnsupportedError } from "../../core/errors.ts";
import { integerField, rangeField, varintBytes } from "../../io/protobuf.ts";
import { concatBytes } from "../../io/refuse.ts";
import { openSource, type SourceLike } from "../../io/source.ts";
import type { OnnxAttention, OnnxOperand, OnnxRefusal, OnnxStep } from "./find.ts";
import { findAttention } from "./find.ts";
import { readGraph } from "./graph.ts";

/** Start of the names of added tensors; the recipe of all layers is a text of this name. */
export const EXPOSED = "heed.";
export const RECIPE = `${EXPOSED}recipe`;

/** How a layer of an exposed model computes its scores; a name is that of an output. */
export interface ExposedLayer extends Omit<OnnxAttention, "query" | "key" | "value" | "steps"> {
  readonly query: Pick<OnnxOperand, "name" | "layout">;
  readonly key: Pick<OnnxOperand, "name" | "layout">;
  readonly value: Pick<OnnxOperand, "name" | "layout">;
  readonly steps: readonly OnnxStep[];
}

/** An exposed model. */
export interface ExposedModel {
  readonly layers: readonly ExposedLayer[];
  /** Attention that was left as it is, and why. */
  readonly refused: readonly OnnxRefusal[];
  /** The bytes of the new file, in parts. */
  contents(): AsyncGenerator<Uint8Array>;
  /** Closes the file. */
  close(): Promise<void>;
}

/** Bytes that are copied at a time. */
const SLICE = 2 ** 20;
/** Types of ONNX. */
const [INT64, STRING] = [7, 8];

/**
 * Finds the attention of an ONNX model and adds its operands to the outputs, as tensors named `heed.LAYER.PART`, with a text
 * `heed.recipe` that says how scores are made of them. `attentionOf` runs the result.
 *
 * @throws FormatError for a malformed file; UnsupportedError where there is no attention in it that can be exposed
 * @example
 * const model = await exposeAttention("model.onnx");
 * await saveFile("exposed.onnx", model.contents());
 */
export async function exposeAttention(from: SourceLike): Promise<ExposedModel> {
  checkCount("exposeAttention", arguments, 1);
  const source = await openSource("exposeAttention", from);
  try {
    const graph = await readGraph(source);
    if ([...graph.outputs].some((name) => name.startsWith(EXPOSED)))
      throw new UnsupportedError("onnx-exposed", "exposeAttention: the model has outputs of heed already");
    const all = findAttention(graph);
    const attentions = all.filter((one): one is OnnxAttention => !("reason" in one));
    const refused = all.filter((one): one is OnnxRefusal => "reason" in one);
    if (attentions.length === 0)
      throw new UnsupportedError(
        "onnx-attention",
        `exposeAttention: ${refused.length === 0 ? "there is no attention in the graph: no Attention, MultiHeadAttention or GroupQueryAttention, and no MatMul, Softmax, MatMul" : `no attention can be exposed; ${refused[0].op} ${refused[0].node}: ${refused[0].reason}`}`,
        { refused: refused.length },
      );
    const builder = new Builder();
    const layers = attentions.map((one, n) => builder.expose(one, n));
    builder.text(RECIPE, JSON.stringify(layers));
    const added = builder.bytes();
    const { start, from: begin, to } = graph.place;
    const header = concatBytes([varintBytes((7 << 3) | 2), varintBytes(to - begin + added.length)]);
    const copy = async function* (from: number, to: number) {
      for (let at = from; at < to; at += SLICE) yield await source.read(at, Math.min(SLICE, to - at));
    };
    return {
      layers,
      refused,
      close: () => source.close(),
      async *contents() {
        yield* copy(0, start);
        yield header;
        yield* copy(begin, to);
        yield added;
        yield* copy(to, source.size);
      },
    };
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** Nodes and outputs to add to a graph. */
class Builder {
  readonly #parts: Uint8Array[] = [];
  #count = 0;

  bytes(): Uint8Array {
    return concatBytes(this.#parts);
  }

  /** Adds the operands of one attention to the outputs. */
  expose({ query, key, value, steps, ...recipe }: OnnxAttention, layer: number): ExposedLayer {
    const operand = (part: string, of: OnnxOperand) => ({
      name: this.#output(`${EXPOSED}${layer}.${part}`, this.#computed(of)),
      layout: of.layout,
    });
    return {
      ...recipe,
      query: operand("q", query),
      key: operand("k", key),
      value: operand("v", value),
      steps: steps.map((step, n) =>
        step.kind === "factor"
          ? step
          : { ...step, name: this.#output(`${EXPOSED}${layer}.${step.kind}${n}`, step.name) },
      ),
    };
  }

  /** A constant text that is an output. */
  text(name: string, text: string): void {
    const tensor = concatBytes([integerField(2, STRING), rangeField(6, text)]);
    this.#node("Constant", [], [name], [tensorAttribute(tensor)]);
    this.#parts.push(rangeField(12, rangeField(1, name)));
  }

  #output(name: string, of: string): string {
    this.#node("Identity", [of], [name]);
    // The type of an output follows from its node.
    this.#parts.push(rangeField(12, rangeField(1, name)));
    return name;
  }

  #node(
    op: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: readonly Uint8Array[] = [],
    domain = "",
  ): string {
    if (inputs.some((name) => !name))
      throw new FormatError("onnx", "exposeAttention: an attention operator lacks one of its inputs");
    const message = concatBytes([
      ...inputs.map((name) => rangeField(1, name)),
      ...outputs.map((name) => rangeField(2, name)),
      rangeField(3, `${EXPOSED}node${this.#count++}`),
      rangeField(4, op),
      ...attributes.map((one) => rangeField(5, one)),
      ...(domain === "" ? [] : [rangeField(7, domain)]),
    ]);
    this.#parts.push(rangeField(1, message));
    return outputs[0];
  }

  #step(op: string, inputs: readonly string[], attributes: readonly Uint8Array[] = [], domain = ""): string {
    return this.#node(op, inputs, [`${EXPOSED}t${this.#count}`], attributes, domain);
  }

  #integers(...values: readonly number[]): string {
    const raw = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
    const tensor = concatBytes([integerField(1, values.length), integerField(2, INT64), rangeField(9, raw)]);
    return this.#step("Constant", [], [tensorAttribute(tensor)]);
  }

  /** Part 0, 1 or 2 of three equal ones along the last axis. */
  #third(name: string, part: number): string {
    const size = this.#step("Div", [
      this.#step("Gather", [this.#step("Shape", [name]), this.#integers(-1)]),
      this.#integers(3),
    ]);
    const [start, end] = [part, part + 1].map((n) => this.#step("Mul", [size, this.#integers(n)]));
    return this.#step("Slice", [name, start, end, this.#integers(-1)]);
  }

  /** The name of an operand after its bias, product or rotation. */
  #computed({ name, bias, joint, rotation }: OnnxOperand): string {
    if (joint) {
      const product = this.#step("Add", [this.#step("MatMul", [name, joint.weights]), joint.bias]);
      return this.#third(product, joint.part);
    }
    if (bias) return this.#step("Add", [name, this.#third(bias.name, bias.part)]);
    if (!rotation) return name;
    const { lengths, cos, sin, interleaved, heads } = rotation;
    // The position of the first query: number of keys − number of queries.
    const last = this.#step("Gather", [
      this.#step("Reshape", [
        this.#step("Cast", [lengths], [integerAttribute("to", INT64)]),
        this.#integers(-1),
      ]),
      this.#integers(0),
    ]);
    const queries = this.#step("Gather", [this.#step("Shape", [name]), this.#integers(1)]);
    const start = this.#step("Sub", [this.#step("Add", [last, this.#integers(1)]), queries]);
    const attributes = [integerAttribute("interleaved", interleaved), integerAttribute("num_heads", heads)];
    return this.#step("RotaryEmbedding", [name, start, cos, sin], attributes, "com.microsoft");
  }
}

const tensorAttribute = (tensor: Uint8Array) =>
  concatBytes([rangeField(1, "value"), rangeField(5, tensor), integerField(20, 4)]);
const integerAttribute = (name: string, value: number) =>
  concatBytes([rangeField(1, name), integerField(3, value), integerField(20, 2)]);
