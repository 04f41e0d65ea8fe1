/** The commands of `heed`, in the order of the overview. Loading one does not load the others. */
import type { Command } from "../support/line/command.ts";

/** An entry of the table, for the overview without loading the command. */
export interface Entry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

const from = (module: Promise<{ command: Command }>) => module.then(({ command }) => command);

/** Every command. Summaries repeat those of the commands; a test compares them. */
export const COMMANDS: readonly Entry[] = [
  {
    name: "show",
    summary: "show what a trained model attends to in a text",
    load: () => from(import("./show.ts")),
  },
  {
    name: "view",
    summary: "open a file of attention, or a text, in the explorer",
    load: () => from(import("./view.ts")),
  },
  { name: "lab", summary: "learn attention by doing, in the browser", load: () => from(import("./lab.ts")) },
  {
    name: "learn",
    summary: "open what a course teaches beside heed's lines and lessons",
    load: () => from(import("./learn.ts")),
  },
  {
    name: "html",
    summary: "write the explorer and a file of attention as one HTML file",
    load: () => from(import("./html.ts")),
  },
  {
    name: "figure",
    summary: "draw a head, or all of them, as PDF, SVG, PNG, CSV or JSON",
    load: () => from(import("./figure.ts")),
  },
  {
    name: "capture",
    summary: "write a model's attention on texts or pictures as a file",
    load: () => from(import("./capture.ts")),
  },
  {
    name: "ablate",
    summary: "switch off parts of a model and compare its prediction",
    load: () => from(import("./ablate.ts")),
  },
  {
    name: "patch",
    summary: "replace outputs of a model with those of another text",
    load: () => from(import("./patch.ts")),
  },
  {
    name: "why",
    summary: "split the score of a link into its reasons",
    load: () => from(import("./why.ts")),
  },
  {
    name: "heads",
    summary: "measure every head over many texts",
    load: () => from(import("./heads.ts")),
  },
  { name: "fill", summary: "fill in the masked tokens of a text", load: () => from(import("./fill.ts")) },
  {
    name: "answer",
    summary: "find the answer to a question in a text",
    load: () => from(import("./answer.ts")),
  },
  { name: "generate", summary: "continue a text with a decoder", load: () => from(import("./generate.ts")) },
  {
    name: "translate",
    summary: "translate a text with an encoder–decoder",
    load: () => from(import("./translate.ts")),
  },
  {
    name: "summarize",
    summary: "summarize a text with an encoder–decoder",
    load: () => from(import("./summarize.ts")),
  },
  {
    name: "embed",
    summary: "write a vector for each line of a text file",
    load: () => from(import("./embed.ts")),
  },
  {
    name: "similar",
    summary: "compare texts by the cosines of their vectors",
    load: () => from(import("./similar.ts")),
  },
  {
    name: "pull",
    summary: "download a model from the Hugging Face hub",
    load: () => from(import("./pull.ts")),
  },
  {
    name: "run",
    summary: "compute attention over query, key and value in files",
    load: () => from(import("./run.ts")),
  },
  {
    name: "explain",
    summary: "print how a call would run, without running it",
    load: () => from(import("./explain.ts")),
  },
  {
    name: "inspect",
    summary: "list the tensors of a file, with statistics",
    load: () => from(import("./inspect.ts")),
  },
  {
    name: "convert",
    summary: "convert tensors between npy, npz and safetensors",
    load: () => from(import("./convert.ts")),
  },
  {
    name: "train",
    summary: "train a small language model on text files",
    load: () => from(import("./train.ts")),
  },
  { name: "onnx", summary: "make an ONNX model give its attention", load: () => from(import("./onnx.ts")) },
  { name: "bench", summary: "measure the engine on this machine", load: () => from(import("./bench.ts")) },
  {
    name: "doctor",
    summary: "report what this machine supports, and how to enable more",
    load: () => from(import("./doctor.ts")),
  },
  {
    name: "completions",
    summary: "print the completion script of a shell for heed's commands",
    load: () => from(import("./completions.ts")),
  },
];
