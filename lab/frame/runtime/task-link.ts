/** A teacher's task in the address of a page, `?class=…`: a text, and an answer that is shown when it is asked for. */

/** A task, and its answer, "" for none. */
export type ClassTask = readonly [task: string, answer: string];

/** Characters of a task or an answer. */
const LONGEST = 1000;
const PARAMETER = "class";

/** The task as a parameter: not readable in the address, so that it does not give the answer away. Not secret. */
export function encodeTask(task: ClassTask): string {
  const bytes = new TextEncoder().encode(JSON.stringify(task.map((text) => text.trim().slice(0, LONGEST))));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

/** The task of a parameter; undefined for a text that is none. */
export function decodeTask(text: string): ClassTask | undefined {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) =>
      c.charCodeAt(0),
    );
    const task: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const isTask =
      Array.isArray(task) &&
      task.length === 2 &&
      task.every((one) => typeof one === "string" && one.length <= LONGEST) &&
      task[0] !== "";
    return isTask ? (task as unknown as ClassTask) : undefined;
  } catch {
    return undefined;
  }
}

/** The address of a page with a task: `page` is the page's address, `state` the fragment of what is set. */
export function taskLink(page: string, state: string, task: ClassTask): string {
  const link = new URL(page);
  link.search = `?${PARAMETER}=${encodeTask(task)}`;
  link.hash = state;
  return link.href;
}

/** Copies a link with the task that was written under "For a class", or says that there is none. */
export async function shareTask(
  root: ParentNode,
  state: string,
  copy: (address: string, announce: (message: string) => void) => Promise<void>,
  announce: (message: string) => void,
): Promise<void> {
  const [task, answer] = ["task", "answer"].map(
    (name) => root.querySelector<HTMLTextAreaElement>(`.share [name=${name}]`)!.value,
  );
  if (task.trim() === "") announce("Write a task first.");
  else await copy(taskLink(location.origin + location.pathname, state, [task, answer]), announce);
}

/** Shows the task of the address above the text of a page, its answer folded. */
export function showTask(root: ParentNode): void {
  const parameter = new URLSearchParams(location.search).get(PARAMETER);
  const place = root.querySelector(".point");
  if (parameter === null || place === null) return;
  const task = decodeTask(parameter);
  const add = (parent: Element, name: string, text: string) => {
    const element = parent.appendChild(document.createElement(name));
    element.textContent = text;
    return element;
  };
  const aside = document.createElement("aside");
  aside.className = "predict assigned";
  if (task === undefined) {
    add(aside, "p", "The task in this address cannot be read. Ask for the link again: it may have been cut.");
  } else {
    add(add(aside, "p", ""), "b", "Your task");
    add(aside, "p", task[0]).className = "lines";
    if (task[1] !== "") {
      const details = add(aside, "details", "");
      add(details, "summary", "Show the answer");
      add(details, "p", task[1]).className = "lines";
    }
  }
  place.after(aside);
}
