// @ts-check
/** Projects that check the types of the packed package: one for each version of TypeScript that heed supports, and arethetypeswrong. */
import { readFileSync } from "node:fs";
import { at } from "../../tools/setup.mjs";

/** Every subpath with types. */
const SUBPATHS = Object.keys(JSON.parse(readFileSync(at("package.json"), "utf8")).exports)
  .filter((name) => !name.endsWith(".json"))
  .map((name) => `heed${name.slice(1)}`);

const all = (/** @type {string[]} */ names) =>
  names.map((name, n) => `import * as m${n} from "${name}";`).join("\n");

/** What the types of a call say: weights only where they are asked for, and the dtype of the operands. */
const USES = `
import { cast, randn, scaledDotProductAttention, type Tensor } from "heed";
import { Linear } from "heed/nn";
import { grad } from "heed/train";
const x = cast(randn([2, 4]), "float64");
const { output, weights } = scaledDotProductAttention(x, x, x, { returnWeights: true });
export const results: Tensor<"float64">[] = [output, weights];
const some = scaledDotProductAttention(x, x, x, { returnWeights: results.length > 1 });
// @ts-expect-error: weights are there only where they are asked for
export const perhaps: Tensor = some.weights;
// @ts-expect-error: the option is isCausal
scaledDotProductAttention(x, x, x, { causal: true });
export const layer: Linear = new Linear(4, 2, { seed: 1 });
export const gradient: Tensor = grad((y: Tensor) => y)(x);
`;

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: false,
  target: "es2022",
};
const WITH_DOM = { ...STRICT, lib: ["es2022", "dom", "dom.iterable"], types: ["node"] };

/** @param {object} compilerOptions @param {string[]} files */
const config = (compilerOptions, files) => JSON.stringify({ compilerOptions, files });

/**
 * A project in strict TypeScript, which imports every subpath and checks heed's declarations themselves: as Node and as a bundler resolve
 * them, and the modules that need ES2022 alone without other types. Then it runs the program.
 * @param {string} version @param {Record<string, string>} program
 */
export function typescript(version, program) {
  const [major, minor] = version.split(".").map(Number);
  const fromCommonJS = major > 5 || minor > 7;
  return {
    name: `TypeScript ${major > 5 ? major : `${major}.${minor}`}, \`skipLibCheck: false\``,
    packages: { typescript: version, "@types/node": "24.10.1", "@types/react": "19.3.0", react: "19.3.1" },
    files: {
      ...program,
      "all.ts": `${all(SUBPATHS)}\nexport const modules = [${SUBPATHS.map((_, n) => `m${n}`)}];`,
      "uses.ts": USES,
      "core.ts": `${all(["heed", "heed/reference", "heed/nn", "heed/backend"])}\nexport const modules = [m0, m1, m2, m3];`,
      "common.cts": `import heed = require("heed");\nconst ones: heed.Tensor = heed.ones([2]);\nexport = ones;`,
      "node.json": config({ ...WITH_DOM, module: "nodenext", noEmit: true }, [
        "all.ts",
        "uses.ts",
        ...(fromCommonJS ? ["common.cts"] : []),
      ]),
      "bundler.json": config({ ...WITH_DOM, module: "esnext", moduleResolution: "bundler", noEmit: true }, [
        "all.ts",
        "uses.ts",
      ]),
      "core.json": config({ ...STRICT, lib: ["es2022"], types: [], module: "nodenext", noEmit: true }, [
        "core.ts",
      ]),
      "build.mjs": `import { spawnSync } from "node:child_process";
for (const name of ["node", "bundler", "core"]) {
  const { status, stdout } = spawnSync("tsc", ["-p", name + ".json"], { encoding: "utf8" });
  if (status !== 0) { console.log(name + ": " + stdout); process.exit(1); }
}`,
    },
    build: ["node", "build.mjs"],
    run: { command: ["node", "main.js"] },
    threads: 2,
  };
}

/** The rules of arethetypeswrong, for Node's and bundlers' resolution. heed is ES modules: CommonJS code imports it. @param {Record<string, string>} program */
export const attw = (program) => ({
  name: "arethetypeswrong, Node and bundlers",
  packages: { "@arethetypeswrong/cli": "0.18.5" },
  files: program,
  build: [
    ...["attw", "--pack", "node_modules/heed", "--no-emoji", "--format", "ascii"],
    ...["--profile", "node16", "--ignore-rules", "cjs-resolves-to-esm"],
  ],
  run: { command: ["node", "main.js"] },
  threads: 2,
});
