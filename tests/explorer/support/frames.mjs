// @ts-check
/** Frame gaps of a page while the pointer moves. */

/** @typedef {import("@playwright/test").Page} Page */

/**
 * Hovers along the queries and returns the gaps between frames, in milliseconds: the best of three rounds.
 * @param {Page} page @param {() => Promise<readonly (readonly [number, number])[]>} along
 */
export async function gaps(page, along) {
  let best = { p95: Number.POSITIVE_INFINITY, most: 0 };
  for (let round = 0; round < 3; round++) {
    await page.evaluate(() => {
      const times = /** @type {number[]} */ ([]);
      const tick = (/** @type {number} */ now) => {
        times.push(now);
        /** @type {any} */ (globalThis).ticking = requestAnimationFrame(tick);
      };
      /** @type {any} */ (globalThis).times = times;
      /** @type {any} */ (globalThis).ticking = requestAnimationFrame(tick);
    });
    for (const [x, y] of await along()) await page.mouse.move(x, y);
    const found = await page.evaluate(() => {
      cancelAnimationFrame(/** @type {any} */ (globalThis).ticking);
      const { times } = /** @type {any} */ (globalThis);
      const all = times
        .slice(1)
        .map((/** @type {number} */ time, /** @type {number} */ n) => time - times[n]);
      all.sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
      return { p95: all[Math.floor(all.length * 0.95)], most: all[all.length - 1] };
    });
    if (found.p95 < best.p95) best = found;
  }
  return best;
}
