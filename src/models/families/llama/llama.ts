/** Llama 2 and 3 (Touvron et al. 2023, arXiv 2302.13971), and SmolLM 3, in which every fourth layer has no positions. */
import { biases, decoderFamily, LLAMA_NAMES } from "../recipe-family.ts";

export const llama = decoderFamily({ modelTypes: ["llama"], names: LLAMA_NAMES, read: biases });

export const smollm3 = decoderFamily({
  modelTypes: ["smollm3"],
  names: LLAMA_NAMES,
  read: biases,
  layers(fields, { num_hidden_layers: count }) {
    const rotating = fields.list<number>("no_rope_layers", ["", "id"], 1024);
    if (rotating && rotating.length !== count) fields.refuse("no_rope_layers", `must be a list of ${count}`);
    const interval = fields.one<number>(["no_rope_layer_interval", "size", 1024], 4);
    const rotates = (layer: number) => (rotating ? rotating[layer] !== 0 : (layer + 1) % interval !== 0);
    return { theta: 2e6, optIn: true, rotates };
  },
});
