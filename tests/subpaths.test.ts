/**
 * What a TypeScript project gets from each subpath of the built package: under both module resolutions, every value that a module
 * exports when it runs is in its types, and nothing else.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { at, pinned } from "../tools/setup.mjs";
import { describeBuilt } from "./support/built.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-subpaths-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The exports that are modules. */
const subpaths = Object.keys(JSON.parse(readFileSync(at("package.json"), "utf8")).exports)
  .filter((name) => !/\.(?:json|wasm)$/.test(name))
  .map((name) => `heed${name.slice(1)}`);

/** Exports of the script that threads run; it is a file to copy, so its types have none of them. */
const INTERNAL = ["heed/worker.js"];

/** The names that each module exports in Node, which has no globals of a page: servers that render pages import the elements too. */
function exportedNames(): Record<string, string[]> {
  const program = `
    const names = {};
    for (const name of ${JSON.stringify(subpaths)}) names[name] = Object.keys(await import(name));
    console.log(JSON.stringify(names));
    process.exit();`;
  const { stdout, stderr } = spawnSync(pinned(), ["--input-type=module", "-e", program], {
    cwd: folder,
    encoding: "utf8",
  });
  return JSON.parse(stdout || JSON.stringify({ error: [stderr] }));
}

/** Uses of the scripts that a page loads. */
const USES = `
import { useKernels } from "heed/kernels";
import kernels from "heed/kernels/strict.wasm";
import widget from "heed/attention-view.js";
import type { AttentionLabElement, AttentionLabEvents } from "heed/attention-lab.js";
const lab: AttentionLabElement = document.createElement("attention-lab");
lab.addEventListener("done", (event) => (event as AttentionLabEvents["done"]).detail.task.toFixed());
useKernels(kernels);
document.createElement("attention-view").setCursor({ layer: 1 });
export const render: (argument: Parameters<typeof widget.render>[0]) => () => void = widget.render;
`;

describeBuilt("the types of each subpath", () => {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(at("."), join(folder, "node_modules/heed"));
  symlinkSync(at("node_modules/react"), join(folder, "node_modules/react"));
  symlinkSync(at("node_modules/@types"), join(folder, "node_modules/@types"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));

  const typed = (program: string, ...options: string[]) => {
    writeFileSync(join(folder, "program.ts"), program);
    const { stdout, status } = spawnSync(
      process.execPath,
      [
        at("node_modules/typescript/bin/tsc"),
        ...[
          "--noEmit",
          "--strict",
          "--skipLibCheck",
          "false",
          "--target",
          "es2022",
          ...options,
          "program.ts",
        ],
      ],
      { cwd: folder, encoding: "utf8" },
    );
    return `${status} ${stdout}`;
  };

  it("are those of ES2022 alone in the modules of which docs/runtimes.md says so", () => {
    const [, names] =
      /skipLibCheck`\. (.+?) need only the types of\s+ES2022/s.exec(
        readFileSync(at("docs/runtimes.md"), "utf8"),
      ) ?? [];
    const modules = [...(names ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    expect(modules.length).toBe(4);
    const program = modules.map((name) => `import "${name}";`).join("\n");
    expect(typed(program, "--lib", "es2022", "--types", "", "--module", "nodenext")).toBe("0 ");
  }, 120_000);

  for (const options of [
    ["--module", "node16"],
    ["--module", "nodenext"],
    ["--module", "esnext", "--moduleResolution", "bundler"],
  ])
    it(`are the names that it exports: ${options.at(-1)}`, () => {
      const names = exportedNames();
      expect(Object.keys(names)).toEqual(subpaths);
      const lines = subpaths.flatMap((name, n) => {
        const values = INTERNAL.includes(name) ? [] : names[name];
        const union = values.map((one) => JSON.stringify(one)).join(" | ") || "never";
        return [
          `import * as m${n} from "${name}";`,
          `export const same${n}: [keyof typeof m${n}] extends [${union}] ? [${union}] extends [keyof typeof m${n}] ? "${name}" : never : never = "${name}";`,
        ];
      });
      const program = `${lines.join("\n")}\n${USES}`;
      expect(typed(program, "--types", "node", "--lib", "es2022,dom,dom.iterable", ...options)).toBe("0 ");
    }, 120_000);
});
