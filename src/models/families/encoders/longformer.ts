/**
 * Longformer (Beltagy et al. 2020, arXiv 2004.05150): RoBERTa's layers, whose tokens see a window on each side. Global tokens, which the
 * caller names, see all and are seen by all, with projections of their own. Texts need not be a multiple of the window.
 */
import type { Fields } from "../../config/fields.ts";
import { LIMITS } from "../../config/schema.ts";
import { encoderFamily, layerNorm } from "../recipe-family.ts";
import { afterPadding, bertEmbeddings, bertNames, DROPOUT, LM_HEAD } from "./bert-fields.ts";

/** The keys that each layer sees, half of them on each side. */
function windowsOf(fields: Fields, layers: number): readonly number[] {
  const name = "attention_window";
  const windows = Array.isArray(fields.value(name))
    ? (fields.list<number>(name, ["", "size", 2 ** 30], LIMITS.layers) ?? [])
    : Array<number>(layers).fill(fields.one<number>([name, "size", 2 ** 30], 512));
  if (windows.length !== layers) fields.refuse(name, `must be a number or a list of ${layers}`);
  if (windows.some((width) => width % 2 !== 0))
    fields.refuse(name, "must be even: half of it is on each side");
  return windows;
}

export const longformer = encoderFamily({
  modelTypes: ["longformer"],
  names: {
    ...bertNames("longformer"),
    ...LM_HEAD,
    globalQuery: "attention.self.query_global",
    globalKey: "attention.self.key_global",
    globalValue: "attention.self.value_global",
  },
  fields: DROPOUT,
  activation: "gelu",
  read(fields, { head_dim, num_hidden_layers, max_position_embeddings: rows }) {
    const pad = fields.one<number>(["pad_token_id", "id"], 1);
    const { head_act, position_rows, max_position_embeddings } = afterPadding({
      max_position_embeddings: rows,
      pad_token_id: pad,
    });
    return {
      head_act,
      position_rows,
      max_position_embeddings,
      layers: windowsOf(fields, num_hidden_layers).map((width) => ({ window: width / 2 + 1 })),
      norm: layerNorm(fields, "layer_norm_eps", {}, 1e-12),
      query_scale: 1 / Math.sqrt(head_dim),
      ...bertEmbeddings(fields, 1),
    };
  },
  layers: null,
});
