/**
 * A run as one page of Markdown: machine, command, a table for each level and number of threads, and the goals that were
 * reached or missed. Every number is in the JSON that run.ts wrote.
 *
 *   node bench/report.ts run.json [page.md]
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BenchRun, Judged, LevelSession } from "./run.ts";
import { figure } from "./support/cases.ts";
import type { Measured } from "./support/measure.ts";
import type { Spread } from "./support/turns.ts";

const digits = (x: number, n = 3): string => {
  if (!Number.isFinite(x)) return "–";
  if (Math.abs(x) >= 10 ** n) return x.toFixed(0);
  return String(Number(x.toPrecision(n)));
};
const spread = ({ median, p25, p75 }: Spread): string =>
  p25 === p75 ? digits(median) : `${digits(median)} (${digits(p25)}–${digits(p75)})`;
const row = (cells: readonly string[]): string =>
  `| ${cells.map((c) => c.replaceAll("|", "\\|")).join(" | ")} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [row(head), row(head.map(() => "---")), ...rows.map(row)];
}

/** The fastest other package of a case, and how many times faster heed is. */
function bestPeer({ measured, figures }: Judged): [string, string] {
  const peers = measured.filter(({ kind }) => kind !== "heed");
  if (peers.length === 0) return ["", ""];
  const best = peers.reduce((a, b) => (b.ms.median < a.ms.median ? b : a));
  const ratio = figures[figure.speedOver(best.name)];
  return [`${best.name}, ${digits(best.ms.median)} ms`, ratio ? spread(ratio) : ""];
}

function mark(goal: Judged["goals"][number]): string {
  if (goal.value === undefined) return `${goal.text}: not measured`;
  return `${goal.text}: ${digits(goal.value)} ${goal.reached ? "yes" : "**no**"}`;
}

/** The row of a case. */
function caseRow(outcome: Judged): string[] {
  const { figures, ofCeiling, goals } = outcome;
  const at = (name: string, text: (x: Spread) => string) => (figures[name] ? text(figures[name]) : "");
  const [peer, ratio] = bestPeer(outcome);
  return [
    outcome.case,
    at(figure.ms, spread),
    at(figure.ms, ({ best }) => digits(best)),
    at(figure.gflops, ({ median }) => digits(median)),
    ofCeiling === undefined
      ? ""
      : `${(100 * ofCeiling).toFixed(0)} %${outcome.ceiling?.loop === "read" ? " of read" : ""}`,
    peer,
    ratio,
    goals.map(mark).join("<br>"),
  ];
}

const HEAD = [
  "case",
  "ours, ms (p25–p75)",
  "best, ms",
  "GFLOP/s",
  "of the ceiling",
  "best peer",
  "times faster",
  "goals",
];

/** All contestants of a case. */
function contestants(outcome: Judged): string[][] {
  return outcome.measured.map(({ name, ms, gflops, turns, once, error }: Measured, n) => [
    n === 0 ? outcome.case : "",
    n === 0 ? `**${name}**` : name,
    spread(ms),
    digits(ms.best),
    digits(gflops),
    once ? "one cold call" : String(turns),
    digits(error, 2),
  ]);
}

/** Ratios and other figures of a case that have no row in the table. */
function ratioRows(outcome: Judged): string[][] {
  return Object.entries(outcome.figures)
    .filter(([name]) => name !== figure.ms && name !== figure.gflops && !name.startsWith("speed / "))
    .map(([name, value]) => [outcome.case, name, spread(value)]);
}

function sessionPage(session: LevelSession): string[] {
  const { level, threads, node, v8, ceilings, refused, outcomes, failures, missing } = session;
  const lines = ["", `## ${level}, ${threads} thread${threads > 1 ? "s" : ""}`, ""];
  if (refused !== undefined) return [...lines, `Not measured: ${refused}.`];
  lines.push(
    `Node ${node}, V8 ${v8}. Ceiling of the level at the start: ${ceilings ? `${digits(ceilings.flops)} GFLOP/s (${ceilings.loop})` : "not measured"}.`,
    "",
    ...table(HEAD, outcomes.map(caseRow)),
  );
  const ratios = outcomes.flatMap(ratioRows);
  if (ratios.length > 0) lines.push("", ...table(["case", "figure", "median (p25–p75)"], ratios));
  const all = outcomes.flatMap(contestants);
  if (all.length > 0)
    lines.push(
      "",
      "<details><summary>Everyone who ran, with the error that was found first (1 = the bound of float32)</summary>",
      "",
      ...table(["case", "contestant", "ms (p25–p75)", "best, ms", "GFLOP/s", "turns", "error"], all),
      "",
      ...outcomes.flatMap((o) => [
        ...(o.plan ? [`- ${o.case}: \`${o.plan.kernel}\`, ${o.plan.tasks} tasks`] : []),
        ...o.notes.map((note) => `- ${o.case}: ${note}`),
        ...o.absent.map(({ name, why }) => `- ${o.case}: ${name} did not run (${why})`),
      ]),
      "",
      "</details>",
    );
  for (const { case: name, why } of failures) lines.push("", `**Failed**: ${name}: ${why.split("\n")[0]}`);
  for (const [name, why] of Object.entries(missing ?? {})) lines.push("", `${name} was not there: ${why}`);
  return lines;
}

/** The page. */
export function reportOf(run: BenchRun): string {
  const { machine, sessions } = run;
  const goals = sessions.flatMap(({ outcomes }) => outcomes.flatMap((o) => o.goals));
  const met = goals.filter(({ reached }) => reached).length;
  const unknown = goals.filter(({ value }) => value === undefined).length;
  const missed = sessions.flatMap(({ level, threads, outcomes }) =>
    outcomes.flatMap((o) =>
      o.goals
        .filter(({ reached }) => reached === false)
        .map(
          (goal) =>
            `- ${level}, ${threads} thread${threads > 1 ? "s" : ""}, ${o.case}: ${goal.text}, got ${digits(goal.value as number)}`,
        ),
    ),
  );
  return [
    "# Measured",
    "",
    `${run.started.slice(0, 10)}, ${machine.cpu}, ${machine.cores} cores, ${(machine.memory / 2 ** 30).toFixed(0)} GiB, ${machine.platform}; ${run.built ? "the built package" : "the source"}.`,
    "",
    `    ${run.command}`,
    "",
    `GFLOP/s count 4·B·H·Nq·Nk·d, masked scores too. Contestants took turns in one process, ${run.seconds} s a case; medians over turns, the middle half in brackets. How to read the columns: bench/README.md.`,
    "",
    `Goals reached: ${met} of ${goals.length - unknown} measured${unknown > 0 ? `, ${unknown} not measured` : ""}.`,
    ...(missed.length > 0 ? ["", "Not reached:", "", ...missed] : []),
    ...sessions.flatMap(sessionPage),
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [from, to] = process.argv.slice(2);
  if (from === undefined) {
    console.error("usage: node bench/report.ts run.json [page.md]");
    process.exit(2);
  }
  const page = reportOf(JSON.parse(readFileSync(from, "utf8")));
  if (to === undefined) process.stdout.write(page);
  else writeFileSync(to, page);
}
