/**
 * Angles of rotary positions (Su et al. 2021) as checkpoints scale them for texts longer than those they began with. Pair i of R/2 turns
 * by θᵢ = base^(−2i/R) a position; each kind changes the θᵢ, and two also multiply what was turned:
 *
 *   default   θᵢ
 *   linear    θᵢ / factor                                                     Chen et al. 2023, arXiv 2306.15595
 *   dynamic   θᵢ up to the model's positions, which is as far as heed goes
 *   llama3    θᵢ for short waves, θᵢ/factor for long ones, between the two in between
 *   yarn      the same by a ramp over i, and a factor on the turned numbers   Peng et al. 2023, arXiv 2309.00071
 *   longrope  θᵢ / short[i], or θᵢ / long[i] for longer texts, and a factor   Ding et al. 2024, arXiv 2402.13753
 */

/** A kind of scaling with its constants, named as in config.json. */
export type AngleScaling =
  | { readonly rope_type: "default" | "dynamic" }
  | { readonly rope_type: "linear"; readonly factor: number }
  | {
      readonly rope_type: "llama3";
      readonly factor: number;
      readonly low_freq_factor: number;
      readonly high_freq_factor: number;
      readonly original_max_position_embeddings: number;
    }
  | {
      readonly rope_type: "yarn";
      readonly factor: number;
      readonly original_max_position_embeddings: number;
      readonly attention_factor: number;
      readonly beta_fast: number;
      readonly beta_slow: number;
      readonly truncate: boolean;
    }
  | {
      readonly rope_type: "longrope";
      readonly short_factor: readonly number[];
      readonly long_factor: readonly number[];
      readonly original_max_position_embeddings: number;
      readonly attention_factor: number;
    };

/** Rotary positions of a layer. */
export interface RotaryConfig {
  readonly rope_theta: number;
  /** R: numbers of each head that turn, from the first on; even. */
  readonly rotaryDim: number;
  readonly scaling: AngleScaling;
}

/** What `rope` of heed/nn needs. */
export interface Angles {
  /** θ of each pair, [R/2]. */
  readonly frequencies: Float64Array;
  /** Multiplies the turned numbers. */
  readonly amplitude: number;
}

/** The angles for a text that reaches to position `length` − 1. */
export function anglesOf({ rope_theta: base, rotaryDim: R, scaling }: RotaryConfig, length: number): Angles {
  const plain = Float64Array.from({ length: R / 2 }, (_, i) => base ** ((-2 * i) / R));
  switch (scaling.rope_type) {
    case "default":
    case "dynamic":
      return { frequencies: plain, amplitude: 1 };
    case "linear":
      return { frequencies: plain.map((theta) => theta / scaling.factor), amplitude: 1 };
    case "llama3": {
      const { factor, low_freq_factor: low, high_freq_factor: high } = scaling;
      const frequencies = plain.map((theta) => {
        const turns = (scaling.original_max_position_embeddings * theta) / (2 * Math.PI);
        if (turns <= low) return theta / factor;
        if (turns >= high) return theta;
        const share = (turns - low) / (high - low);
        return ((1 - share) * theta) / factor + share * theta;
      });
      return { frequencies, amplitude: 1 };
    }
    case "yarn": {
      const { factor, original_max_position_embeddings: original } = scaling;
      // Pair whose wave turns so many times over the original length.
      const pairOf = (turns: number) =>
        (R * Math.log(original / (turns * 2 * Math.PI))) / (2 * Math.log(base));
      const round = (x: number, way: (x: number) => number) => (scaling.truncate ? way(x) : x);
      const first = Math.max(round(pairOf(scaling.beta_fast), Math.floor), 0);
      let last = Math.min(round(pairOf(scaling.beta_slow), Math.ceil), R - 1);
      if (first === last) last += 0.001;
      const frequencies = plain.map((theta, i) => {
        const ramp = Math.min(1, Math.max(0, (i - first) / (last - first)));
        return (theta / factor) * ramp + theta * (1 - ramp);
      });
      return { frequencies, amplitude: scaling.attention_factor };
    }
    case "longrope": {
      const long = length > scaling.original_max_position_embeddings;
      const factors = long ? scaling.long_factor : scaling.short_factor;
      return {
        frequencies: plain.map((theta, i) => theta / factors[i]),
        amplitude: scaling.attention_factor,
      };
    }
  }
}
