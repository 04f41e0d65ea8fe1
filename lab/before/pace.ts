/** Word after word against all words at once: milliseconds of a recurrent network and of an attention layer, untrained, on texts of some lengths. */
import { randn } from "../../src/index.ts";
import { GRU } from "../../src/nn/history/index.ts";
import { SelfAttention } from "../../src/nn/index.ts";
import { PACE_D, PACE_WORDS, type Pace } from "./letters.ts";

let last: { readonly race: number; readonly pace: Pace } | undefined;

/** The milliseconds of a race, the best of two calls each; those of the last race again where `race` is 0, and NaN before the first. */
export function paceOf(race: number): Pace {
  if (race > 0 && race !== last?.race) {
    const [gru, layer] = [new GRU(PACE_D, PACE_D, { seed: 1 }), new SelfAttention(PACE_D, { seed: 1 })];
    const texts = PACE_WORDS.map((n) => randn([1, n, PACE_D], { seed: n }));
    const time = (call: () => unknown) => {
      const start = performance.now();
      call();
      return performance.now() - start;
    };
    const best = (call: () => unknown) => Math.min(time(call), time(call));
    const pace = {
      recurrent: texts.map((text) => best(() => gru.forward(text))),
      attention: texts.map((text) => best(() => layer.forward(text))),
    };
    last = { race, pace };
  }
  const none = PACE_WORDS.map(() => Number.NaN);
  return last?.pace ?? { recurrent: none, attention: none };
}
