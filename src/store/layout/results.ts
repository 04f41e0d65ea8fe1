/** States and results that a file has besides its attention: what needs the model. */
import { isFloat } from "../../core/dtype.ts";
import { HeedError } from "../../core/errors.ts";
import type { About, Problems } from "../formats/metadata.ts";
import { checkEvidence, type Evidence } from "../formats/stored-evidence.ts";
import { type Bag, shown } from "../formats/tensor-source.ts";

/** The states with the right shape, in order of their layers. */
export function statesOf(
  bag: Bag,
  block: string,
  names: ReadonlyMap<number, string> = new Map(),
  Nq: number,
  problems: Problems,
): Map<number, string> {
  const states = new Map<number, string>();
  for (const [layer, name] of [...names].sort(([a], [b]) => a - b)) {
    const t = bag.tensors.get(name)!;
    if (t.shape.length === 2 && t.shape[0] === Nq && isFloat(t.dtype)) states.set(layer, name);
    else
      problems.add(
        "warning",
        "state",
        `\`${name}\` is ${shown(t)}, expected [${Nq}, width] floats; the state of \`${block}\` is left out`,
      );
  }
  return states;
}

/** The results about a block; an invalid list is reported and left out. */
export function evidenceOf(name: string, N: number, about: About, problems: Problems): readonly Evidence[] {
  if (!about.evidence.has(name)) return [];
  try {
    return checkEvidence(about.evidence.get(name), `\`evidence.${name}\``, N);
  } catch (error) {
    if (!(error instanceof HeedError)) throw error;
    problems.add("warning", error.code, error.message);
    return [];
  }
}
