/**
 * −1e9 and −∞: with the finite number of textbooks, masked keys get weight if every visible score is lower, or if a row is fully
 * masked.
 * Run: `node examples/course/04-infinity.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   with -1e9: tensor [3, 3] float64
 *   [[0.2689, 0.7311, 0.0000],
 *    [0.0000, 0.0000, 1.0000],
 *    [0.3333, 0.3333, 0.3333]]
 *   with -Infinity: tensor [3, 3] float64
 *   [[0.2689, 0.7311, 0.0000],
 *    [1.0000, 0.0000, 0.0000],
 *    [0.0000, 0.0000, 0.0000]]
 *   row 0: the same, for ordinary scores
 *   row 1: -1e9 gives the masked key 1 of the weight, -Infinity 0
 *   row 2, fully masked: -1e9 gives each masked key a third, heed gives zeros
 */
import { tensor } from "heed";
import { softmax, where } from "heed/nn";

const visible = [
  [true, true, false],
  [true, true, false],
  [false, false, false],
];
const scores = tensor(
  [
    [1, 2, 3],
    [-2e9, -3e9, 3],
    [1, 2, 3],
  ],
  "float64",
);

const finite = softmax(where(visible, scores, -1e9));
const infinite = softmax(where(visible, scores, -Infinity));
console.log(`with -1e9: ${finite}`);
console.log(`with -Infinity: ${infinite}`);
console.log("row 0: the same, for ordinary scores");
console.log(
  `row 1: -1e9 gives the masked key ${finite.at(1, 2)} of the weight, -Infinity ${infinite.at(1, 2)}`,
);
console.log("row 2, fully masked: -1e9 gives each masked key a third, heed gives zeros");
