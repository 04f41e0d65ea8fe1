/** Values of a state brought into their range. */

/** The value, at least `low` and at most `high`. */
export const clamp = (value: number, low: number, high: number): number =>
  Math.min(high, Math.max(low, value));

/** The nearest integer from `low` to `high`; 0 without a sign. */
export const clampInteger = (value: number, low: number, high: number): number =>
  clamp(Math.round(value), low, high) + 0;
