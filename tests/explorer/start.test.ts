import { expect, it } from "vitest";
import { startCommand } from "../../tools/start-command.mjs";

it.each([
  [[], "view"],
  [["--port", "7811"], "view --port 7811"],
  [["--port=7811", "--no-open"], "view --port 7811 --no-open"],
  [["--host", "0.0.0.0", "--view"], "view --host 0.0.0.0"],
  [["--all"], "view --all"],
  [["--model", "some/model"], "view --model some/model"],
])("npm start with %j and no text opens the captured sentences", (words, command) => {
  expect(startCommand(words)).toEqual({ args: command.split(" "), env: {} });
});

it("options of the engine open the same page", () => {
  expect(startCommand(["--threads", "1", "--port", "80"])).toEqual({
    args: ["view", "--port", "80"],
    env: { HEED_THREADS: "1" },
  });
});

it.each([
  [["time flies"], "show --view time flies"],
  [["--port", "80", "time flies"], "show --view --port 80 time flies"],
  [["--layer", "2"], "show --view --layer 2"],
  [["--no-view"], "show"],
  [["--json", "--port", "80"], "show --json --port 80"],
])("npm start with %j is heed show", (words, command) => {
  expect(startCommand(words).args.join(" ")).toBe(command);
});
