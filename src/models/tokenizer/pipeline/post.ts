/** Post-processors of tokenizer.json: special tokens around texts, and offsets without the spaces of byte-level tokens. */
import type { Json } from "../../../io/json.ts";
import { bertTemplate, type Slot, type Template } from "../template.ts";
import { ConfigPart, shown } from "./part.ts";

/** The step after tokenization. */
export interface PostProcessor {
  readonly template?: Template;
  /** Excludes white space at the ends of tokens from their offsets. `prefixed`: the first token has a prepended space. */
  readonly trim?: { readonly prefixed: boolean };
}

/** The post-processor of a part. */
export function readPostProcessor(part: ConfigPart): PostProcessor {
  switch (part.type) {
    case "Sequence":
      return part
        .parts("processors")
        .map(readPostProcessor)
        .reduce<PostProcessor>((all, one) => Object.assign(all, one), {});
    case "ByteLevel":
      return part.flag("trim_offsets", true)
        ? { trim: { prefixed: part.flag("add_prefix_space", true) } }
        : {};
    case "TemplateProcessing":
      return { template: readTemplate(part) };
    case "BertProcessing":
    case "RobertaProcessing": {
      const [cls, sep] = ["cls", "sep"].map((name) => pairOf(part, name));
      const bert = bertTemplate(cls, sep);
      if (part.type === "BertProcessing") return { template: bert };
      const { single } = bert;
      const separator = single[2];
      // A pair is `<s> A </s></s> B </s>`, all of type 0.
      const pair: Slot[] = [...single, separator, { sequence: 1, typeId: 0 }, separator];
      const trim = part.flag("trim_offsets", true);
      return {
        template: { single, pair },
        ...(trim && { trim: { prefixed: part.flag("add_prefix_space", true) } }),
      };
    }
    default:
      return part.refuse("is not a post-processor heed has");
  }
}

/** A token with its id: `["</s>", 2]`. */
function pairOf(part: ConfigPart, name: string): readonly [string, number] {
  const [token, id] = part.list(name);
  if (typeof token !== "string" || typeof id !== "number" || !Number.isInteger(id))
    return part.refuse(`${name} must be [token, id]`);
  return [token, id];
}

function readTemplate(part: ConfigPart): Template {
  const special = part.entries("special_tokens");
  const slots = (name: "single" | "pair"): Slot[] => {
    const slots = part.list(name).map((slot) => readSlot(slot, special, part));
    for (const sequence of name === "single" ? [0] : [0, 1])
      if (slots.filter((slot) => "sequence" in slot && slot.sequence === sequence).length !== 1)
        part.refuse(`${name} must have the ${sequence === 0 ? "first" : "second"} text once`);
    if (name === "single" && slots.some((slot) => "sequence" in slot && slot.sequence === 1))
      part.refuse("single has a second text");
    return slots;
  };
  return { single: slots("single"), pair: slots("pair") };
}

function readSlot(value: Json, special: ReadonlyMap<string, Json>, part: ConfigPart): Slot {
  const entries = value instanceof Map ? [...value] : [];
  if (entries.length !== 1) return part.refuse("a slot must be one of Sequence and SpecialToken");
  const [kind, body] = entries[0] as [string, Json];
  const slot = new ConfigPart(body, part.refuse);
  const typeId = slot.size("type_id", 2 ** 16, 0);
  const id = slot.text("id");
  if (kind === "Sequence" && (id === "A" || id === "B")) return { sequence: id === "A" ? 0 : 1, typeId };
  if (kind !== "SpecialToken")
    return part.refuse(`a slot must be Sequence A or B or a SpecialToken, got ${shown(kind)}`);
  const ids = new ConfigPart(special.get(id) ?? null, part.refuse).list("ids");
  if (ids.length === 0 || ids.some((one) => typeof one !== "number" || !Number.isInteger(one)))
    return part.refuse(`${shown(id)} has no ids`);
  return { special: id, ids: ids as number[], typeId };
}
