// @ts-check
/** Changes of what <attention-view> of a page shows: another file or text, other settings, an edited number. */

/** @typedef {import("@playwright/test").Page} Page */

/** Opens other data. @param {Page} page @param {object} wanted */
export async function open(page, wanted) {
  await page.evaluate(async (heads) => {
    const { view, makeInput } = /** @type {any} */ (globalThis);
    await view.open(makeInput(heads));
    await view.updateComplete;
  }, wanted);
}

/** Opens the second of two texts. @param {Page} page */
export async function another(page) {
  await page.evaluate(async () => {
    const { view, makeInput } = /** @type {any} */ (globalThis);
    const loaded = () => new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
    const first = loaded();
    view.sources = [31, 32].map((seed) => ({ name: `text ${seed}`, data: makeInput({ Nq: 8, seed }) }));
    await first;
    const second = loaded();
    view.state = { text: 1 };
    await second;
    await view.updateComplete;
  });
}

/** Drops a file on the element, and closes the dialog that says what was loaded. @param {Page} page */
export async function dropped(page) {
  await page.evaluate(async () => {
    const { view, makeInput } = /** @type {any} */ (globalThis);
    const other = /** @type {any} */ (document.createElement("attention-view"));
    document.body.append(other);
    await other.open(makeInput({ Nq: 8, seed: 33 }));
    const data = new DataTransfer();
    data.items.add(new File([await other.store.bundle()], "dropped.safetensors"));
    other.remove();
    const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
    view.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
    await loaded;
    await view.updateComplete;
  });
  const dialog = page.locator("attention-view dialog[open]");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}

/** Sets the property that pages and React set. @param {Page} page */
export async function assigned(page) {
  await page.evaluate(async () => {
    const { view, makeInput } = /** @type {any} */ (globalThis);
    const loaded = new Promise((resolve) => view.addEventListener("load", resolve, { once: true }));
    view.data = makeInput({ Nq: 8, seed: 34 });
    await loaded;
    await view.updateComplete;
  });
}

/** Changes the state. @param {Page} page @param {object} patch */
export async function set(page, patch) {
  await page.evaluate(async (parts) => {
    const { view } = /** @type {any} */ (globalThis);
    view.state = parts;
    await view.updateComplete;
  }, patch);
}

/** Changes a number of the query in the row view, then leaves it. @param {Page} page */
export async function edited(page) {
  await set(page, { view: "row", table: false, query: 3, key: 2 });
  await page.waitForFunction(
    () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector("[aria-label='query 0']") !== null,
  );
  await page.evaluate(async () => {
    const { view } = /** @type {any} */ (globalThis);
    const field = view.shadowRoot.querySelector("[aria-label='query 0']");
    field.value = "50";
    field.dispatchEvent(new Event("change", { bubbles: true }));
    await view.updateComplete;
    view.state = { view: "head" };
    await view.updateComplete;
  });
}
