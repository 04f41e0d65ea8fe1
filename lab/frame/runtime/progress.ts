/** What the reader has reached: the step of the text on the screen, the prediction answered last, and the tasks done, which are stored. */
import type { AttentionLabEvents } from "../../../src/view/lab-element.ts";
import { loadNotes } from "../../pages.ts";
import type { LabState } from "../fields.ts";
import { changeOf, guessOf, type LabView, type NamedPage } from "../page.ts";
import type { PageState } from "./state.ts";

const STORED = "heed-lab";
/** The index of the open task, after the two others. */
const OPEN = 2;

export class ReaderProgress<S extends LabState, N> {
  readonly #root: HTMLElement;
  readonly #state: PageState<S, N>;
  readonly #steps: readonly HTMLElement[];
  readonly #stage: HTMLElement;
  readonly #done: boolean[];
  /** The step that is on the screen; −1 before the first. */
  #active = -1;
  /** The step whose prediction was answered last, and the scroll position then: it can be on the screen while the next step is active. */
  #answered = { at: -1, scroll: 0 };
  /** True once the reader has scrolled: a step of the text never sets its state by itself before that. */
  scrolled: boolean;

  /** `scrolled`: the address names a step, to which the browser has scrolled before anything listens. */
  constructor(root: HTMLElement, state: PageState<S, N>, scrolled: boolean) {
    this.scrolled = scrolled;
    this.#root = root;
    this.#state = state;
    this.#steps = [...root.querySelectorAll<HTMLElement>(".step")];
    this.#stage = root.querySelector<HTMLElement>(".stage")!;
    const stored = storedTasks()[state.page.name] ?? [];
    this.#done = [0, 1, OPEN].map((i) => stored.includes(i));
  }

  /** The step whose state Reset goes to. */
  get step(): NamedPage<S, N>["steps"][number] | undefined {
    return this.#state.page.steps[Math.max(0, this.#active)];
  }

  /** Steps whose text may be on the screen. */
  stepsInView(): Iterable<number> {
    return new Set([this.#active, this.#answered.at].filter((at) => at >= 0));
  }

  /** The prediction of a step was answered, or its answer forgotten. */
  answer(at: number): void {
    this.#answered = { at, scroll: scrollY };
  }

  /** Which tasks are done; those that are done now are stored. */
  tasksDone(view: LabView<S, N>): readonly boolean[] {
    const { tasks } = this.#state.page;
    if (view.changed || this.#state.pointed)
      for (const [i, task] of tasks.entries())
        if (!this.#done[i] && task.reached(view) === true) this.#finish(i, task.text);
    return this.#done;
  }

  /** Runs what the reader wrote for the open task and says whether it is right, or shows an answer. Loads the tasks. */
  async open(isAnswer: boolean): Promise<void> {
    const [task, { check }] = await Promise.all([
      loadNotes(this.#state.page.name),
      import("../open-task.ts"),
    ]);
    const lines = this.#root.querySelector<HTMLTextAreaElement>(".open textarea")!.value;
    const { right, says } = isAnswer ? { right: false, says: task.answer } : check(task, lines);
    const verdict = this.#root.querySelector<HTMLElement>(".open .verdict")!;
    verdict.textContent = says;
    verdict.classList.toggle("right", right);
    if (right && !this.#done[OPEN]) this.#finish(OPEN, task.text);
  }

  /** Stores that a task is done, and says it to the page around: what was done on which page, and how much is done now. */
  #finish(i: number, text: string): void {
    const { name } = this.#state.page;
    this.#done[i] = true;
    storeTasks(name, this.#done);
    const done = this.#done.filter(Boolean).length;
    const detail = { page: name, task: i + 1, text, done } satisfies AttentionLabEvents["done"]["detail"];
    this.#root.dispatchEvent(new CustomEvent("done", { bubbles: true, composed: true, detail }));
  }

  /**
   * Finds the step that is on the screen. Returns the change of state that a newly reached one makes, "draw" if the picture stays and
   * the text of that step is written from it, or undefined if it is the same step as before.
   */
  reach(): Partial<S> | "draw" | undefined {
    // The picture is beside the text, or above it.
    const isBeside = this.#stage.offsetLeft > (this.#steps[0]?.offsetLeft ?? 0);
    const line = (isBeside ? 0.45 : 0.72) * innerHeight;
    const at = this.#steps.findLastIndex((step) => step.getBoundingClientRect().top < line);
    if (at < 0 || at === this.#active) return undefined;
    // The event of a scroll that ended before the reader answered must not replace the answer.
    if (this.#answered.at >= 0 && scrollY === this.#answered.scroll) return undefined;
    const before = this.#active;
    this.#active = at;
    this.#answered = { at: -1, scroll: 0 };
    const { page, newest, fromAddress, changed } = this.#state;
    const { bottom } = this.#steps[this.#steps.length - 1].getBoundingClientRect();
    // Past the last step the picture stays as the reader left it.
    if (!this.scrolled || (before === -1 && (fromAddress || (changed && at === 0))) || bottom < 0)
      return "draw";
    const guesses = Object.entries(newest).filter(([name]) => /^guess\d/.test(name));
    const { predict } = page.steps[at];
    return {
      ...page.initial,
      ...page.carry?.(newest),
      ...changeOf(page.steps[at].state, newest),
      ...Object.fromEntries(guesses),
      ...(predict && guessOf(newest, at) >= 0 && changeOf(predict.show, newest)),
    } as Partial<S>;
  }

  /** Shows a message in place of the picture's problem, or hides it. */
  showProblem(message: string | undefined): void {
    const problem = this.#root.querySelector<HTMLElement>(".problem")!;
    problem.textContent = message ?? "";
    problem.hidden = message === undefined;
  }

  /** Shows why there are no numbers: none are being computed. */
  showFailure(message: string): void {
    this.#root.setAttribute("data-state", "failed");
    this.showProblem(message);
  }

  /** Shows a message for some seconds beside the tools, or in another place. */
  announce(message: string, place = ".tools"): void {
    const statuses = this.#root.querySelectorAll<HTMLElement>(`${place} .saying`);
    const write = (text: string) => {
      for (const status of statuses) status.textContent = text;
    };
    write(message);
    setTimeout(() => write(""), 4000);
  }
}

type TasksByPage = Record<string, number[] | undefined>;

/** The finished tasks of each page, from the browser's storage; none where it is unavailable. */
export function storedTasks(): TasksByPage {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    return typeof value === "object" && value !== null ? (value as TasksByPage) : {};
  } catch {
    return {};
  }
}

function storeTasks(name: string, done: readonly boolean[]): void {
  const indices = done.flatMap((isDone, i) => (isDone ? [i] : []));
  try {
    localStorage.setItem(STORED, JSON.stringify({ ...storedTasks(), [name]: indices }));
  } catch {
    // Storage is unavailable: the ticks last until the page is closed.
  }
}
