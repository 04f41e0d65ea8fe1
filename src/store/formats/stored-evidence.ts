/**
 * Evidence that a bundle carries, because it cannot be computed without the model: the results of `heed why`, `heed ablate` and `heed patch`
 * as their `--json` prints them, each with its command. The metadata is untrusted text, so every field that a reader relies on is checked.
 */
import { FormatError, formatValue } from "../../core/errors.ts";

/** A component of a model's states: a word, a head, a feed-forward network; as `componentName` of `heed/models` names it. */
export interface StoredComponent {
  readonly kind: string;
  readonly layer?: number;
  readonly head?: number;
}

/** A share of a score, and the same against its mean over the row's other keys. */
export interface StoredShare {
  readonly value: number;
  readonly difference: number;
}

/** A component with its share of a score. */
export interface StoredComponentShare extends StoredShare {
  readonly component: StoredComponent;
}

/** The score of a link as a sum over pairs of components: what `heed why --json` prints. */
export interface StoredScore {
  readonly kind: "score";
  readonly command: string;
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
  readonly weight: number;
  readonly score: StoredShare;
  /** The terms with the largest |difference|, the largest first. */
  readonly terms: readonly (StoredShare & {
    readonly query: StoredComponent;
    readonly key: StoredComponent;
  })[];
  /** All other terms together. */
  readonly rest: StoredShare;
  /** Every component of the query token, and of the key token, summed over those of the other. */
  readonly queryComponents: readonly StoredComponentShare[];
  readonly keyComponents: readonly StoredComponentShare[];
}

/** A part of a model that was turned off or patched, and what changed. */
export interface StoredEffect {
  readonly part: string;
  readonly layer: number;
  /** Of heads and links. */
  readonly head?: number;
  /** The quantity (`effects`) or the probability (`prediction`) without the part. */
  readonly value?: number;
  readonly probability?: number;
  readonly change: number;
  /** Of patches: the share of the difference between the two texts. */
  readonly recovered?: number;
}

/** What each part of a model changes: what `heed ablate --json` and `heed patch --json` print. */
export interface StoredEffects {
  /** `prediction`: of the most likely token's probability; `effects`: of another quantity. */
  readonly kind: "effects" | "prediction";
  readonly command: string;
  /** Of `effects`: what is measured, as `measureEffects` of `heed/models` takes it. */
  readonly quantity?: Readonly<Record<string, unknown>>;
  /** The other text of a cosine or a patch. */
  readonly other?: string;
  /** Of `effects`: the quantity of the unchanged run. */
  readonly value?: number;
  /** The largest |change| first. */
  readonly effects: readonly StoredEffect[];
}

/** One result about a text of a bundle. */
export type Evidence = StoredScore | StoredEffects;

/** Maximum number of results of a block. */
const MAX_RESULTS = 64;

/**
 * Checks the results of a block with N tokens.
 *
 * @throws FormatError that names the field, what it holds and what it must hold
 */
export function checkEvidence(value: unknown, where: string, N: number): readonly Evidence[] {
  const list = listOf(value, where);
  if (list.length > MAX_RESULTS) bad(where, `at most ${MAX_RESULTS} results`, list.length);
  list.forEach((one, n) => {
    checkResult(recordOf(one, `${where}: result ${n}`), `${where}: result ${n}`, N);
  });
  return list as Evidence[];
}

function checkResult(result: Record<string, unknown>, where: string, N: number): void {
  const { kind, command } = result;
  if (typeof command !== "string") bad(`${where}: command`, "the command that made it", command);
  if (kind === "score") {
    for (const name of ["layer", "head"]) count(result[name], `${where}: ${name}`);
    for (const name of ["query", "key"]) count(result[name], `${where}: ${name}`, N);
    number(result.weight, `${where}: weight`);
    for (const name of ["score", "rest"]) share(result[name], `${where}: ${name}`);
    for (const term of listOf(result.terms, `${where}: terms`)) {
      const { query, key } = share(term, `${where}: terms`);
      for (const one of [query, key]) component(one, `${where}: terms`);
    }
    for (const name of ["queryComponents", "keyComponents"])
      for (const one of listOf(result[name], `${where}: ${name}`))
        component(share(one, `${where}: ${name}`).component, `${where}: ${name}`);
  } else if (kind === "effects" || kind === "prediction") {
    if (kind === "effects") number(result.value, `${where}: value`);
    for (const one of listOf(result.effects, `${where}: effects`)) {
      const effect = recordOf(one, `${where}: effects`);
      if (typeof effect.part !== "string") bad(`${where}: effects: part`, "a text", effect.part);
      count(effect.layer, `${where}: effects: layer`);
      if (effect.head !== undefined) count(effect.head, `${where}: effects: head`);
      for (const name of ["change", kind === "effects" ? "value" : "probability"])
        number(effect[name], `${where}: effects: ${name}`);
    }
  } else bad(`${where}: kind`, '"score", "effects" or "prediction"', kind);
}

function component(value: unknown, where: string): void {
  const { kind, layer, head } = recordOf(value, where);
  if (typeof kind !== "string") bad(`${where}: kind`, "a text", kind);
  for (const one of [layer, head]) if (one !== undefined) count(one, where);
}

function share(value: unknown, where: string): Record<string, unknown> {
  const fields = recordOf(value, where);
  for (const name of ["value", "difference"]) number(fields[name], `${where}: ${name}`);
  return fields;
}

function count(value: unknown, where: string, below = 2 ** 30): void {
  if (!(Number.isInteger(value) && (value as number) >= 0 && (value as number) < below))
    bad(where, `an integer from 0 to ${below - 1}`, value);
}

function number(value: unknown, where: string): void {
  if (typeof value !== "number") bad(where, "a number", value);
}

/** Throws a FormatError unless `value` is a list. */
export function listOf(value: unknown, where: string): unknown[] {
  return Array.isArray(value) ? value : bad(where, "a list", value);
}

/** Throws a FormatError unless `value` is an object with fields. */
export function recordOf(value: unknown, where: string): Record<string, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    return bad(where, "an object", value);
  return value as Record<string, unknown>;
}

/** Throws the FormatError of an entry of the metadata that is left out. */
export function bad(where: string, expected: string, got: unknown): never {
  const text = `${where}: expected ${expected}, got ${formatValue(got)}; it is left out`;
  throw new FormatError("metadata", text, { where, got });
}
