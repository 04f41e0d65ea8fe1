// @ts-check
/**
 * The situations of the explorer's bench (explorer.mjs), as they run in the page: each uses <attention-view> as a person would
 * and returns its figures in the order of its rows. Movement is by events on the element under the pointer, one per frame,
 * through the element's own listeners.
 *
 * "On screen" is the end of the frame in which something is drawn, the work of that frame included. `rest` waits until the
 * element is idle, and is not timed.
 */

/** @typedef {import("../../tests/explorer/support/heads.mjs").Wanted} Wanted */

const page = /** @type {any} */ (globalThis);
/** The element. */
const view = page.view;
/** @type {ShadowRoot} */
const inside = view.shadowRoot;
/** @param {string} selector @returns {any} */
const find = (selector) => inside.querySelector(selector);
const now = () => performance.now();

/** The beginning of the next frame. */
const frame = () => new Promise(requestAnimationFrame);

/** The end of this frame: a message sent in it is delivered after the paint. */
const ended = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve(port1.close());
    port2.postMessage(0);
  });
/** The end of the next frame. */
const painted = () => frame().then(ended);

/** Waits for a condition frame by frame; gives how many frames that took. @param {() => unknown} met @param {string} what */
async function until(met, what) {
  const end = now() + 120_000;
  for (let frames = 1; ; frames++) {
    await painted();
    if (met()) return frames;
    if (now() > end) throw new Error(`bench: waited in vain for ${what}`);
  }
}

/** Waits until nothing is computed or drawn, and a little longer for what is loaded later. */
async function rest() {
  const quiet = () =>
    !/Measuring|Drawing|Loading|so far/.test(find(".root").textContent) && !find(".matrix.waiting");
  for (let frames = 0; frames < 30; frames = quiet() ? frames + 1 : 0) {
    await view.updateComplete;
    await painted();
  }
}

/**
 * Makes one step per frame, and returns the gaps between frames in milliseconds.
 * @param {number} steps @param {(n: number) => void} step @returns {Promise<number[]>}
 */
async function gaps(steps, step) {
  const times = [/** @type {number} */ (await frame())];
  for (let n = 0; n < steps; n++) {
    step(n);
    times.push(/** @type {number} */ (await frame()));
  }
  return times.slice(1).map((time, n) => time - times[n]);
}

/** p95 and the longest. @param {number[]} all @returns {[number, number]} */
function worst(all) {
  const sorted = [...all].sort((a, b) => a - b);
  return [sorted[Math.floor(sorted.length * 0.95)], sorted[sorted.length - 1]];
}

/** @param {number[]} all */
const median = (all) => [...all].sort((a, b) => a - b)[all.length >> 1];

/** Sends a pointer event to what is at a point. @param {string} kind @param {number} x @param {number} y @param {PointerEventInit} [more] */
function pointer(kind, x, y, more = {}) {
  const target = inside.elementFromPoint(x, y) ?? view;
  const init = { bubbles: true, composed: true, cancelable: true, isPrimary: true, pointerType: "mouse" };
  // The pointer of a mouse has the id 1; only an existing pointer can be captured.
  target.dispatchEvent(
    new PointerEvent(kind, { ...init, pointerId: 1, clientX: x, clientY: y, buttons: 1, ...more }),
  );
}

/** Turns the wheel over a point. @param {number} x @param {number} y @param {number} deltaY */
function wheel(x, y, deltaY) {
  const init = { bubbles: true, composed: true, cancelable: true, clientX: x, clientY: y, deltaY };
  (inside.elementFromPoint(x, y) ?? view).dispatchEvent(new WheelEvent("wheel", init));
}

/** The middle of an element. @param {string} selector */
function middle(selector) {
  const box = find(selector).getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2, box };
}

/** The next painting of the matrix that meets a condition. @param {(done: any) => boolean} met @returns {Promise<void>} */
function painting(met) {
  return new Promise((resolve) => {
    const reported = (/** @type {any} */ event) => {
      if (!event.target.classList.contains("matrix") || !met(event.detail)) return;
      inside.removeEventListener("painted", reported, true);
      resolve();
    };
    // It does not bubble, so the listener uses capture.
    inside.addEventListener("painted", reported, true);
  });
}

const shown = (/** @type {any} */ done) => done.shown;
const sharp = (/** @type {any} */ done) => done.shown && done.missing === 0;

/** Opens something; gives the times to the first complete thumbnail on screen and to all. @param {any} input @returns {Promise<[number, number]>} */
async function thumbnails(input) {
  let [loadedCount, drawn, first] = [0, 0, 0];
  const { drawImage, clearRect } = CanvasRenderingContext2D.prototype;
  const isAtlas = (/** @type {any} */ context) => context.canvas.parentElement?.matches(".atlas");
  CanvasRenderingContext2D.prototype.clearRect = function (...of) {
    if (isAtlas(this)) drawn = 0;
    return clearRect.apply(this, of);
  };
  CanvasRenderingContext2D.prototype.drawImage = function (/** @type {any[]} */ ...of) {
    if (isAtlas(this)) drawn++;
    return /** @type {any} */ (drawImage).apply(this, of);
  };
  const loaded = () => {
    const overview = view.store.overview.bind(view.store);
    view.store.overview = async (/** @type {any[]} */ ...of) => {
      const answer = await overview(...of);
      loadedCount++;
      return answer;
    };
  };
  view.addEventListener("load", loaded, { once: true });
  const began = now();
  const opening = view.open(input);
  await until(() => loadedCount > 0 && drawn > 0, "a thumbnail");
  first = now() - began;
  await opening;
  const [block] = view.store.blocks;
  const all = block.layers.length * block.heads;
  await until(() => loadedCount >= all && drawn >= all, "all thumbnails");
  const last = now() - began;
  Object.assign(CanvasRenderingContext2D.prototype, { drawImage, clearRect });
  return [first, last];
}

/** Elements of the page, those in shadow roots among them. @param {ParentNode} root @returns {number} */
function elements(root) {
  let count = 0;
  for (const element of root.querySelectorAll("*"))
    count += 1 + (element.shadowRoot ? elements(element.shadowRoot) : 0);
  return count;
}

/** The element with a head of 4096 tokens, at rest. */
async function long() {
  await view.open(page.makeInput({ layers: 1, heads: 1, Nq: 4096, d: 64, recipe: { mask: "causal" } }));
  await rest();
}

/** A store of 12 × 12 heads of 512 tokens. */
const many = () => page.makeInput({ layers: 12, heads: 12, Nq: 512, d: 64, recipe: { mask: "causal" } });

/** Weights of one layer of 12 heads, 256 tokens, causal, seeded. */
function small() {
  const { drawer } = page;
  const draw = drawer(1);
  const [H, N] = [12, 256];
  const data = new Float32Array(H * N * N);
  for (let row = 0; row < H * N; row++) {
    let sum = 0;
    for (let j = 0; j <= row % N; j++) sum += data[row * N + j] = Math.exp(draw());
    for (let j = 0; j <= row % N; j++) data[row * N + j] /= sum;
  }
  return { data, H, N, tokens: Array.from({ length: N }, (_, i) => `tok${i}`) };
}

/** `small` as arrays. */
function smallArrays() {
  const { data, H, N, tokens } = small();
  return { blocks: [{ tokens, layers: [{ weights: { data, shape: [H, N, N] } }] }] };
}

/** `small` as the JSON text for other tools. */
function smallJson() {
  const { data, H, N, tokens } = small();
  const attention = Array.from({ length: H }, (_, h) =>
    Array.from({ length: N }, (_, i) => [...data.subarray((h * N + i) * N, (h * N + i + 1) * N)]),
  );
  return new File([JSON.stringify({ attention: [[attention]], tokens })], "attention.json");
}

/** Milliseconds of a fixed loop: it shows the share of a core that the page gets, and the speed of that core. */
export function pace() {
  const began = now();
  let state = 1;
  for (let n = 0; n < 2e7; n++) state = (Math.imul(state, 1664525) + 1013904223) | 0;
  return now() - began + (state === 0 ? 1 : 0);
}

/** @type {Record<string, () => Promise<number[]>>} */
export const situations = {
  async P1() {
    const bytes = new Uint8Array(await (await fetch("weights.safetensors")).arrayBuffer());
    view.state = { view: "model" };
    return thumbnails(bytes);
  },

  async P2() {
    const heads = many();
    view.state = { view: "model" };
    return thumbnails(heads);
  },

  async P3() {
    view.state = { view: "model" };
    await view.open(many());
    await rest();
    const { x, y } = middle(".atlas.large");
    // 50 frames closer, 50 round in a circle, 50 farther away again.
    const zooming = await gaps(50, () => wheel(x, y, -16));
    pointer("pointerdown", x, y);
    const panning = await gaps(50, (n) => {
      const turn = (2 * Math.PI * (n + 1)) / 25;
      pointer("pointermove", x + 150 * Math.sin(turn), y + 150 * (Math.cos(turn) - 1));
    });
    pointer("pointerup", x, y);
    const back = await gaps(50, () => wheel(x, y, 16));
    return worst([...zooming, ...panning, ...back]);
  },

  async P4() {
    const heads = page.makeInput({ layers: 1, heads: 1, Nq: 4096, d: 64, recipe: { mask: "causal" } });
    const reported = new Promise((resolve) =>
      view.addEventListener("progress", (/** @type {any} */ event) => {
        if (event.detail.what === "heads" && event.detail.done === 1) resolve(undefined);
      }),
    );
    const visible = painting(shown);
    const began = now();
    const opening = view.open(heads);
    await visible.then(ended);
    const first = now() - began;
    await Promise.all([opening, reported]);
    await until(() => !find(".matrix.waiting"), "the complete matrix");
    return [first, now() - began];
  },

  async P5() {
    await long();
    const { x, y, box } = middle(".matrix .area");
    // From the full matrix to four pixels per cell, and then at one pixel per cell.
    const closer = 500 * Math.log(box.width / (4 * 4096));
    const zooming = await gaps(120, () => wheel(x, y, closer / 120));
    const at = (/** @type {number} */ left, /** @type {number} */ top) => {
      view.state = { camera: { scale: 1, x: left, y: top } };
    };
    at(1500, 1500);
    await rest();
    const stops = [];
    /** @type {number[]} */
    const panning = [];
    for (const [dx, dy] of [
      [-1, 0],
      [0, -1],
      [1, -1],
      [-1, 1],
    ]) {
      const [left, top] = [x - 0.4 * box.width * dx, y - 0.4 * box.height * dy];
      pointer("pointerdown", left, top);
      const far = Math.floor(Math.min(0.8 * box.width, 0.8 * box.height) / 29);
      panning.push(
        ...(await gaps(30, (n) => {
          // The pointer moves back for the next stretch, as a hand does.
          const step = n % far;
          if (n > 0 && step === 0) {
            pointer("pointerup", left, top);
            pointer("pointerdown", left, top);
          }
          pointer("pointermove", left + 29 * (step + 1) * dx, top + 29 * (step + 1) * dy);
        })),
      );
      const began = now();
      await until(() => !find(".matrix.waiting"), "a sharp picture");
      stops.push(now() - began);
      pointer("pointerup", left, top);
      await rest();
    }
    const jumps = [];
    for (const place of [0, 700, 2700, 3400]) {
      const began = now();
      at(place, place);
      await painted();
      await until(() => !find(".matrix.waiting"), "a sharp picture");
      jumps.push(now() - began);
      await rest();
    }
    return [...worst(panning), ...worst(zooming), Math.max(...stops), median(jumps), Math.max(...jumps)];
  },

  async P6() {
    await long();
    const { box } = middle(".matrix .area");
    const value = () => find(".readout .big")?.textContent + find(".readout").textContent;
    const [times, frames] = [[0], [0]];
    for (let n = 0; n < 40; n++) {
      // Anywhere below the diagonal, and at any moment of a frame.
      const down = ((n * 37 + 11) % 97) / 97;
      const [x, y] = [box.x + box.width * down * 0.9 * ((n % 7) / 7), box.y + box.height * down];
      await new Promise((resolve) => setTimeout(resolve, 40 + ((n * 7) % 17)));
      const before = value();
      const began = now();
      pointer("pointermove", x, y, { buttons: 0 });
      frames.push(await until(() => value() !== before, "the read-out"));
      times.push(now() - began);
    }
    return [median(times.slice(1)), Math.max(...times), Math.max(...frames)];
  },

  async P7() {
    await view.open(many());
    await rest();
    /** @type {number[][]} */
    const [firsts, times] = [[], []];
    for (let n = 0; n < 20; n++) {
      const visible = painting(shown).then(ended);
      const complete = painting(sharp).then(ended);
      const began = now();
      view.dispatchEvent(new KeyboardEvent("keydown", { key: "]", bubbles: true, composed: true }));
      await visible;
      firsts.push(now() - began);
      await complete;
      times.push(now() - began);
      await rest();
    }
    return [median(firsts), median(times), Math.max(...times)];
  },

  async P8() {
    await view.open(page.makeInput({ layers: 1, heads: 1, Nq: 512, d: 64, recipe: { mask: "causal" } }));
    await rest();
    const began = now();
    view.state = { mode: "lines" };
    const count = () => Number(find(".lines .kept data")?.value);
    await until(() => find(".lines")?.isConnected && count() > 0, "lines");
    const base = now() - began;
    await rest();
    const { x, box } = middle(".lines .column.queries");
    const hovering = await gaps(150, (n) =>
      pointer("pointermove", x, box.y + (0.05 + (0.9 * n) / 149) * box.height, { buttons: 0 }),
    );
    return [...worst(hovering), base];
  },

  async P9() {
    await long();
    const { x, y } = middle(".matrix .area");
    await gaps(60, () => wheel(x, y, -16));
    await rest();
    return [];
  },

  async heads() {
    view.state = { view: "model" };
    const [, all] = await thumbnails(smallArrays());
    await painted();
    return [all, elements(document)];
  },

  async json() {
    const file = smallJson();
    view.state = { view: "model" };
    const [, all] = await thumbnails(file);
    return [all];
  },

  async lines() {
    const arrays = smallArrays();
    const began = now();
    view.state = { view: "head", mode: "lines" };
    await view.open(arrays);
    let largest = 0;
    for (let head = 0; head < 12; head++) {
      view.setCursor({ head });
      await view.updateComplete;
      const done = () => {
        const text = find(".lines .kept")?.textContent ?? "";
        return view.state.head === head && /links drawn/.test(text) && !/so far/.test(text);
      };
      await until(done, "lines");
      largest = Math.max(largest, elements(document));
    }
    return [now() - began, largest];
  },
};
