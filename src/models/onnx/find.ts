/**
 * Finds attention in an ONNX graph: the operators Attention (ai.onnx 23), MultiHeadAttention, GroupQueryAttention and Attention of
 * com.microsoft, and the pattern MatMul → scale, mask → Softmax → MatMul that exporters write.
 */
import type { OnnxGraph, OnnxNode } from "./graph.ts";

/** How a tensor is stored: [B, H, N, d]; [B, H, d, N]; [B, N, H·d]. */
export type OnnxLayout = "bhnd" | "bhdn" | "bnc";

/** Attention in a graph, by the names of its tensors. */
export interface OnnxAttention {
  /** The operator, or "Softmax" for the pattern. */
  readonly op: string;
  readonly node: string;
  readonly query: OnnxOperand;
  readonly key: OnnxOperand;
  readonly value: OnnxOperand;
  /** Query and key heads, where the tensors do not have them as an axis. */
  readonly heads?: number;
  readonly keyHeads?: number;
  /** Multiplies q·k; undefined: 1/√d. Factors and masks are in the order in which the graph applies them. */
  readonly scale?: number;
  readonly steps: readonly OnnxStep[];
  /** Causal, aligned at the first or at the last key; and the number of keys that a window has, the query's own included. */
  readonly causal?: "first" | "last";
  readonly window?: number;
  readonly softcap?: number;
}

/** A tensor of the graph, and what must be computed before it is one of attention. */
export interface OnnxOperand {
  readonly name: string;
  readonly layout: OnnxLayout;
  /** Part of a bias [3·H·d] that is added: 0, 1, 2 for query, key, value. */
  readonly bias?: { readonly name: string; readonly part: number };
  /** Part of the product of `name` with a joint matrix [C, 3·C]. */
  readonly joint?: { readonly weights: string; readonly bias: string; readonly part: number };
  /** Rotation of com.microsoft.GroupQueryAttention. */
  readonly rotation?: {
    readonly lengths: string;
    readonly cos: string;
    readonly sin: string;
    readonly interleaved: number;
    readonly heads: number;
  };
}

/** A change of the scores: a factor, a number that is added, or keys that are hidden. */
export type OnnxStep =
  | { readonly kind: "factor"; readonly value: number }
  | { readonly kind: "multiply" | "divide" | "add" | "keep" | "drop" | "padding"; readonly name: string };

/** Attention that was found but cannot be exposed, and why. */
export interface OnnxRefusal {
  readonly op: string;
  readonly node: string;
  readonly reason: string;
}

const number = (node: OnnxNode, name: string): number | undefined => {
  const value = node.attributes.get(name);
  return typeof value === "number" ? value : undefined;
};
const has = (node: OnnxNode, input: number) => (node.inputs[input] ?? "") !== "";
const positive = (value: number | undefined) => (value !== undefined && value > 0 ? value : undefined);

/** All attention in the order of the nodes. */
export function findAttention(graph: OnnxGraph): (OnnxAttention | OnnxRefusal)[] {
  return graph.nodes.flatMap((node) => {
    const microsoft = node.domain === "com.microsoft";
    if (node.op === "Attention") return [microsoft ? jointAttention(node) : standardAttention(node)];
    if (node.op === "MultiHeadAttention" && microsoft) return [multiHead(node)];
    if (node.op === "GroupQueryAttention" && microsoft) return [groupQuery(node)];
    if (node.op !== "Softmax" || node.domain !== "") return [];
    return pattern(graph, node) ?? [];
  });
}

const refusal = ({ op, name }: OnnxNode, reason: string): OnnxRefusal => ({ op, node: name, reason });

/** ai.onnx.Attention: [B, H, N, d], or [B, N, H·d] with the numbers of heads. */
function standardAttention(node: OnnxNode): OnnxAttention | OnnxRefusal {
  const [query, key, value, mask] = node.inputs;
  if (has(node, 4) || has(node, 6)) return refusal(node, "it has a cache of past keys, or lengths of keys");
  const heads = positive(number(node, "q_num_heads"));
  const layout: OnnxLayout = heads === undefined ? "bhnd" : "bnc";
  return {
    op: "Attention",
    node: node.name,
    query: { name: query, layout },
    key: { name: key, layout },
    value: { name: value, layout },
    ...(heads !== undefined && { heads, keyHeads: number(node, "kv_num_heads") ?? heads }),
    ...(number(node, "scale") !== undefined && { scale: number(node, "scale") }),
    // The type of the mask, bool or float, is that of the tensor.
    steps: has(node, 3) ? [{ kind: "add", name: mask }] : [],
    ...(number(node, "is_causal") === 1 && { causal: "first" as const }),
    ...(positive(number(node, "softcap")) && { softcap: number(node, "softcap") }),
  };
}

/** com.microsoft.MultiHeadAttention: [B, N, H·d] with a joint bias. */
function multiHead(node: OnnxNode): OnnxAttention | OnnxRefusal {
  const [query, key, value, bias, padding, added] = node.inputs;
  if (!has(node, 1) || !has(node, 2))
    return refusal(node, "its queries, keys and values are packed into one tensor");
  if (has(node, 6)) return refusal(node, "it has a cache of past keys");
  const heads = number(node, "num_heads") ?? 1;
  const operand = (name: string, part: number): OnnxOperand => ({
    name,
    layout: "bnc",
    ...(has(node, 3) && { bias: { name: bias, part } }),
  });
  return {
    op: "MultiHeadAttention",
    node: node.name,
    query: operand(query, 0),
    key: operand(key, 1),
    value: operand(value, 2),
    heads,
    keyHeads: heads,
    ...(positive(number(node, "scale")) && { scale: number(node, "scale") }),
    steps: [
      ...(has(node, 5) ? [{ kind: "add", name: added } as const] : []),
      ...(has(node, 4) ? [{ kind: "padding", name: padding } as const] : []),
    ],
    ...(number(node, "unidirectional") === 1 && { causal: "last" as const }),
  };
}

/** com.microsoft.GroupQueryAttention: keys and values of all tokens are its second and third output, after the rotation. */
function groupQuery(node: OnnxNode): OnnxAttention | OnnxRefusal {
  const [query, key] = node.inputs;
  const [, keys, values] = node.outputs;
  if (!key) return refusal(node, "its queries, keys and values are packed into one tensor");
  if (!keys || !values) return refusal(node, "it does not give its keys");
  const [heads, keyHeads] = [number(node, "num_heads") ?? 1, number(node, "kv_num_heads") ?? 1];
  const rotates = number(node, "do_rotary") === 1;
  const [lengths, cos, sin] = [node.inputs[5], node.inputs[7], node.inputs[8]];
  if (has(node, 10)) return refusal(node, "it has an attention bias");
  const window = positive(number(node, "local_window_size"));
  return {
    op: "GroupQueryAttention",
    node: node.name,
    query: {
      name: query,
      layout: "bnc",
      ...(rotates && {
        rotation: { lengths, cos, sin, interleaved: number(node, "rotary_interleaved") ?? 0, heads },
      }),
    },
    key: { name: keys, layout: "bhnd" },
    value: { name: values, layout: "bhnd" },
    heads,
    keyHeads,
    ...(positive(number(node, "scale")) && { scale: number(node, "scale") }),
    steps: [],
    causal: "last",
    ...(window && { window }),
    ...(positive(number(node, "softcap")) && { softcap: number(node, "softcap") }),
  };
}

/** com.microsoft.Attention: one matrix makes queries, keys and values of the input. */
function jointAttention(node: OnnxNode): OnnxAttention | OnnxRefusal {
  const [input, weights, bias, mask, past, added] = node.inputs;
  if (past) return refusal(node, "it has a cache of past keys");
  if (!bias) return refusal(node, "its joint matrix has no bias");
  if (node.attributes.has("qkv_hidden_sizes"))
    return refusal(node, "its queries and values have sizes of their own");
  if (number(node, "do_rotary") === 1) return refusal(node, "it rotates queries and keys inside");
  const heads = number(node, "num_heads") ?? 1;
  const operand = (part: number): OnnxOperand => ({
    name: input,
    layout: "bnc",
    joint: { weights, bias, part },
  });
  return {
    op: "Attention",
    node: node.name,
    query: operand(0),
    key: operand(1),
    value: operand(2),
    heads,
    keyHeads: heads,
    ...(positive(number(node, "scale")) && { scale: number(node, "scale") }),
    steps: [
      ...(added ? [{ kind: "add", name: added } as const] : []),
      ...(mask ? [{ kind: "padding", name: mask } as const] : []),
    ],
    ...(number(node, "unidirectional") === 1 && { causal: "last" as const }),
  };
}

/** Operators that hand on a tensor. */
const PASSES = new Set(["Identity", "Cast", "Dropout"]);
/** Nodes between the product of queries and keys and their softmax. */
const MAX_STEPS = 16;

/** The pattern around a softmax; undefined where it is no attention. */
function pattern(graph: OnnxGraph, softmax: OnnxNode): OnnxAttention | OnnxRefusal | undefined {
  const axis = number(softmax, "axis");
  // Before version 13 the axis counted from the first one, and 3 is the last of four.
  if (axis !== undefined && axis !== -1 && axis !== 3) return undefined;
  const value = valuesOf(graph, softmax.outputs[0]);
  if (value === undefined) return undefined;
  const steps: OnnxStep[] = [];
  let name = softmax.inputs[0];
  for (let n = 0; n < MAX_STEPS; n++) {
    const node = graph.producers.get(name);
    if (node === undefined) return undefined;
    if (node.op === "MatMul") {
      const [query, key] = node.inputs;
      return {
        op: "Softmax",
        node: softmax.name || node.name,
        query: { name: query, layout: "bhnd" },
        key: { name: key, layout: "bhdn" },
        value: { name: value, layout: "bhnd" },
        scale: 1,
        steps: steps.reverse(),
      };
    }
    const [a, b, c] = node.inputs;
    if (PASSES.has(node.op)) name = a;
    else if (node.op === "Mul" || node.op === "Div") {
      const isFirst = node.op === "Div" || reachesProduct(graph, a);
      const [scores, factor] = isFirst ? [a, b] : [b, a];
      const constant = graph.scalars.get(factor);
      if (constant !== undefined)
        steps.push({ kind: "factor", value: node.op === "Div" ? 1 / constant : constant });
      else steps.push({ kind: node.op === "Div" ? "divide" : "multiply", name: factor });
      name = scores;
    } else if (node.op === "Add") {
      const [scores, added] = reachesProduct(graph, a) ? [a, b] : [b, a];
      steps.push({ kind: "add", name: added });
      name = scores;
    } else if (node.op === "Where") {
      const isFirst = reachesProduct(graph, b);
      steps.push({ kind: isFirst ? "keep" : "drop", name: a });
      name = isFirst ? b : c;
    } else
      return reachesProduct(graph, name)
        ? refusal(
            { ...softmax, op: "Softmax" },
            `${node.op} is between the product of queries and keys and the softmax`,
          )
        : undefined;
  }
  return undefined;
}

/** True where a tensor is made from a product of two computed tensors by elementwise operators. */
function reachesProduct(graph: OnnxGraph, name: string, depth = 0): boolean {
  const node = graph.producers.get(name);
  if (node === undefined || depth > MAX_STEPS) return false;
  if (node.op === "MatMul")
    return node.inputs.every((input) => graph.producers.has(input) || !graph.scalars.has(input));
  if (!(PASSES.has(node.op) || ["Mul", "Div", "Add", "Where", "Tanh"].includes(node.op))) return false;
  return node.inputs.some((input) => reachesProduct(graph, input, depth + 1));
}

/** The values that weights multiply; undefined where the softmax is no attention. */
function valuesOf(graph: OnnxGraph, weights: string, depth = 0): string | undefined {
  if (depth > 4) return undefined;
  for (const node of graph.consumers.get(weights) ?? []) {
    if (node.op === "MatMul" && node.inputs[0] === weights) return node.inputs[1];
    // Rows without a key are NaN; exporters replace them.
    const passes = PASSES.has(node.op) || node.op === "Where" || node.op === "Mul";
    const value = passes ? valuesOf(graph, node.outputs[0], depth + 1) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}
