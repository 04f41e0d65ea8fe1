/**
 * Angles of rotary position embeddings (Su et al. 2021), as checkpoints scale them for texts longer than their first training
 * texts. Pair i of R/2 rotates by θᵢ = base^(−2i/R) per position; each kind changes the θᵢ, and two also scale the rotated
 * numbers:
 *
 *   default   θᵢ
 *   linear    θᵢ / factor                                                     Chen et al. 2023, arXiv 2306.15595
 *   dynamic   θᵢ up to the model's positions, the maximum in heed
 *   llama3    θᵢ for short wavelengths, θᵢ/factor for long ones, interpolated in between
 *   yarn      the same by a ramp over i, and a factor on the rotated numbers  Peng et al. 2023, arXiv 2309.00071
 *   longrope  θᵢ / short[i], or θᵢ / long[i] for longer texts, and a factor   Ding et al. 2024, arXiv 2402.13753
 *   proportional  θᵢ / factor for the first pairs, 0 for the others           Gemma 4
 */

/** A kind of scaling with its constants, named as in config.json. */
export type AngleScaling =
  | { readonly rope_type: "default" | "dynamic" }
  | { readonly rope_type: "linear"; readonly factor: number }
  | { readonly rope_type: "proportional"; readonly factor: number; readonly pairs: number }
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
  /** R: the first R numbers of each head rotate; even. */
  readonly rotaryDim: number;
  /** Which numbers form a pair: i and i + R/2 (default), or 2i and 2i + 1. */
  readonly layout?: "half" | "interleaved";
  readonly scaling: AngleScaling;
}

/** The options that `rope` of heed/nn takes. */
export interface Angles {
  /** θ of each pair, [R/2]. */
  readonly frequencies: Float64Array;
  /** Multiplies the rotated numbers. */
  readonly amplitude: number;
}

/** The angles for a text that reaches to position `length` − 1. */
export function anglesOf({ rope_theta: base, rotaryDim: R, scaling }: RotaryConfig, length: number): Angles {
  const plain = Float64Array.from({ length: R / 2 }, (_, i) => base ** ((-2 * i) / R));
  switch (scaling.rope_type) {
    case "default":
    case "dynamic":
      return { frequencies: plain, amplitude: 1 };
    case "proportional":
      return {
        frequencies: plain.map((theta, i) => (i < scaling.pairs ? theta / scaling.factor : 0)),
        amplitude: 1,
      };
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
      // The pair that makes this many turns over the original length.
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

/** Pair i of the computed vector of a position (Vaswani et al. 2017, arXiv 1706.03762). */
export function sinusoid(position: number, i: number, divisor: number): [sin: number, cos: number] {
  const angle = position * 10_000 ** (-i / divisor);
  return [Math.sin(angle), Math.cos(angle)];
}
