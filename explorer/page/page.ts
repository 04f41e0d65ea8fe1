/**
 * The page that `heed view` serves: one explorer over the files the command line was given. The token of the page's own
 * address opens them; the page asks nobody else for anything.
 */

/** What the command line says to the page: the files by their addresses, without the token. */
interface Session {
  readonly files: readonly Made[];
  /** Says what is seen, and what else can be done. */
  readonly welcome?: boolean;
  /** The model that reads what is typed here; undefined: there is none. */
  readonly model?: string;
  /** Where the Lab is. */
  readonly lab?: string;
}

/** A file, and the model that made it. */
interface Made {
  readonly name: string;
  readonly path: string;
  readonly model?: { readonly name: string; readonly predicts: string; readonly path: string };
}

/** A head that the model is to run without. */
interface AblatedHead {
  readonly layer: number;
  readonly head: number;
  readonly replace: "zero" | "mean";
  readonly position: number | null;
}

/** What is used of the element. */
interface Element extends HTMLElement {
  sources: readonly Given[];
  readonly store:
    | {
        readonly blocks: readonly {
          readonly name: string;
          readonly queryTokens: readonly string[];
          readonly keyTokens: readonly string[];
        }[];
        ready(ref: object): boolean;
        cell(ref: object, query: number, key: number, stage: "weights"): number;
      }
    | undefined;
  readonly state: {
    readonly view: string;
    readonly block: string;
    readonly layer: number;
    readonly head: number;
    readonly query: number;
    readonly key: number;
  };
  add(source: Given): Promise<void>;
  pick(): void;
}

/** A source as the element takes it. */
interface Given {
  readonly name: string;
  readonly src: string;
  readonly model?: object;
}

const found = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const view = document.querySelector("attention-view") as Element;
const notice = found("notice");
const ways = found("ways");
const status = found("status");
const token = new URLSearchParams(location.search).get("token") ?? "";
const withToken = (path: string) => `${path}?token=${encodeURIComponent(token)}`;

/** Says what is wrong, and what to do about it. */
function tell(text: string): void {
  notice.textContent = text;
  notice.hidden = text === "";
}

/** Shows the line above the explorer: what is seen, a field for words, a file, the Lab. */
function greet({ welcome = false, model, lab }: Session): void {
  ways.hidden = false;
  found("seen").hidden = !welcome;
  found("pick").hidden = !welcome;
  found("own").hidden = model === undefined;
  const learn = found<HTMLAnchorElement>("learn");
  learn.hidden = !welcome || lab === undefined;
  if (lab !== undefined) learn.href = lab;
  found("pick").addEventListener("click", () => view.pick());
  found("close").addEventListener("click", () => {
    ways.hidden = true;
  });
  if (welcome)
    for (const name of ["load", "cursorchange", "viewchange"]) view.addEventListener(name, describe);
  const words = found<HTMLInputElement>("words");
  words.title = `Read by ${model ?? ""}`;
  const button = found("own").querySelector("button") as HTMLButtonElement;
  found("own").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = words.value.trim();
    if (text === "" || button.disabled) return;
    button.disabled = true;
    status.textContent = `Reading it with ${model} …`;
    void read(text).then((problem) => {
      button.disabled = false;
      status.textContent = problem;
    });
  });
}

/** Asks the model to read a text, and shows it; gives what went wrong, "" where nothing did. */
async function read(text: string): Promise<string> {
  try {
    const answer = await fetch(`/text?token=${encodeURIComponent(token)}&text=${encodeURIComponent(text)}`);
    if (!answer.ok) return `The server answered ${answer.status} ${answer.statusText}.`;
    const made: Made | { path?: undefined; error: string } = await answer.json();
    if (made.path === undefined) return `The model could not read it: ${made.error}`;
    await view.add(sourceOf(made));
    return "";
  } catch (error) {
    return `It could not be read: ${(error as Error).message}`;
  }
}

/** A file as the element takes it: the server runs its model again where the element asks for it. */
function sourceOf({ name, path, model }: Made): Given {
  const src = withToken(path);
  if (model === undefined) return { name, src };
  const ask = async (heads: readonly AblatedHead[], more: string): Promise<unknown> => {
    const named = heads.map(
      ({ layer, head, replace, position }) =>
        `${layer}.${head}${replace === "mean" ? "m" : ""}${position === null ? "" : `.${position}`}`,
    );
    let answer: Response;
    try {
      answer = await fetch(`${withToken(model.path)}&heads=${named.join()}${more}`);
    } catch {
      throw new Error("The program that served this page has ended, so its model cannot be run.");
    }
    if (!answer.ok) throw new Error(`The server answered ${answer.status} ${answer.statusText}.`);
    const result = await answer.json();
    if (typeof result.error === "string") throw new Error(`The model could not be run: ${result.error}`);
    return result;
  };
  return {
    name,
    src,
    model: {
      name: model.name,
      predicts: model.predicts,
      ablate: ({ heads, position }: { heads: readonly AblatedHead[]; position: number | null }) =>
        ask(heads, position === null ? "" : `&position=${position}`),
      attention: async (heads: readonly AblatedHead[]) =>
        sourceOf((await ask(heads, "&attention=1")) as Made),
    },
  };
}

/** One sentence that says what is seen. */
function describe(): void {
  const { store, state } = view;
  const at = store?.blocks.findIndex(({ name }) => name === state.block) ?? -1;
  const block = store?.blocks[at];
  if (store === undefined || block === undefined) return;
  const { layer, head, query, key } = state;
  const ref = { block: at, layer, head };
  if (!store.ready(ref)) {
    setTimeout(describe, 100);
    return;
  }
  const share = store.cell(ref, query, key, "weights");
  const percent = new Intl.NumberFormat("en", {
    style: "percent",
    maximumFractionDigits: share < 0.095 ? 1 : 0,
  });
  const named = (text: string, name: string) =>
    Object.assign(document.createElement(name), { textContent: text, dir: "auto" });
  found("seen").replaceChildren(
    "A real model reads a sentence. Each row is a word that looks, each column a word it looks at; the darker, the more. Here ",
    named(`‹${block.queryTokens[query]}›`, "b"),
    ` gives ${percent.format(share)} of its attention to `,
    named(`‹${block.keyTokens[key]}›`, "b"),
    ".",
  );
}

async function start(): Promise<void> {
  let response: Response;
  try {
    response = await fetch(withToken("/data/session"));
  } catch {
    return tell(
      "The program that served this page has ended. Start it again, and open the address it prints.",
    );
  }
  if (response.status === 403)
    return tell(
      "This address lacks its token: open the one that heed printed, or choose a file of your own here.",
    );
  if (!response.ok) return tell(`The server answered ${response.status} ${response.statusText}.`);
  const session: Session = await response.json();
  await customElements.whenDefined("attention-view");
  if (session.welcome || session.model !== undefined) greet(session);
  if (session.files.length > 0) view.sources = session.files.map(sourceOf);
}

view.addEventListener("load", (event) => {
  const { report } = (event as CustomEvent<{ report: { name: string } }>).detail;
  document.title = `${report.name} · heed`;
});
void start();
