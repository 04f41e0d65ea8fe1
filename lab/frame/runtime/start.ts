/** The one script of a page: mounts it on its static markup, keeps the reader's sentence, and shows progress on the map. */
import { loadPage, PAGES } from "../../pages.ts";
import { mount } from "./mount.ts";
import { storedTasks } from "./progress.ts";
import { keepSentence, SENTENCE, sentence } from "./sentence.ts";

const root = document.querySelector<HTMLElement>(".lab[data-page]");
const name = root?.getAttribute("data-page") ?? "";
let common = SENTENCE;
if (root !== null && PAGES.includes(name)) {
  try {
    const page = await loadPage(name);
    common = page.common ?? SENTENCE;
    mount(page, root, {
      worker: () => new Worker(new URL("./lab-worker.js", import.meta.url), { type: "module" }),
      address: true,
    });
    // A task that a teacher has put into the address.
    if (/[?&]class=/.test(location.search)) (await import("./task-link.ts")).showTask(root);
    root.setAttribute("data-ready", "");
  } catch (error) {
    // The static page stays as it is: text and first picture are complete.
    const problem = root.querySelector<HTMLElement>(".problem")!;
    problem.textContent = `This page could not be started, so nothing on it can be changed. Reload it to try again. (${(error as Error).message})`;
    problem.hidden = false;
  }
}

const field = document.querySelector<HTMLInputElement>("#sentence");
if (field !== null) {
  field.value = sentence() || common;
  field.placeholder = common;
  field.form!.addEventListener("submit", (event) => {
    event.preventDefault();
    keepSentence(field.value === common ? "" : field.value);
    field.value = sentence() || common;
    root?.dispatchEvent(new CustomEvent("sentence"));
  });
  field.addEventListener("change", () => field.form!.requestSubmit());
}

for (const item of document.querySelectorAll("[data-page] [data-done]")) {
  const count = storedTasks()[item.closest("[data-page]")!.getAttribute("data-page")!]?.length ?? 0;
  item.textContent = count === 0 ? "" : `${count} of 3 tasks done`;
}
