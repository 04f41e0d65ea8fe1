/** What a drag changes: a key's place, the query's place or angle; and the matrix of an angle. */
import { signed } from "../frame/marks.ts";
import type { Arrows, ArrowsNumbers } from "./compute.ts";

/** The keys with one of them at another point. */
export const withKey = ({ keys }: Arrows, j: number, point: readonly number[]) =>
  keys.map((value, i) => (Math.floor(i / 2) === j ? point[i % 2] : value));

/** Direction of an arrow in degrees, −180 to 180, 0 to the right. */
export const direction = ([x, y]: readonly [number, number]) => (Math.atan2(y, x) * 180) / Math.PI;

/** The matrix that turns a row vector by an angle in degrees, row after row, as it is printed. */
export const turned = (angle: number) => {
  const [c, s] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  return [c, s, -s, c].map((x) => signed(x + 0, 2));
};

/** The state after the query's tip was moved to a point: of the free query its place, of a turned one its angle. */
export function moved(
  state: Arrows,
  n: ArrowsNumbers,
  [x, y]: readonly [number, number],
): Partial<Arrows> | undefined {
  if (state.mode === "free") return { x, y };
  if (state.mode !== "turned") return undefined;
  const [wx, wy] = n.keys[state.word];
  return { angle: ((Math.atan2(y, x) - Math.atan2(wy, wx)) * 180) / Math.PI };
}
