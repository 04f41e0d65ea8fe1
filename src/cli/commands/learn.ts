/** `heed learn`: the page for readers of a course, with links into the Lab. */
import { type Command, UsageError } from "../support/line/command.ts";
import { COURSE, command as lab } from "./lab.ts";

export const command: Command = {
  ...lab,
  name: "learn",
  summary: "open what a course teaches beside heed's lines and lessons",
  usage: "heed learn [OPTIONS]",
  notes: "The page is docs/course.md, with a link to each step of the Lab.",
  examples: ["heed learn", "heed learn --port 8080 --no-open"],
  run(values, positionals, io) {
    if (positionals.length > 0) throw new UsageError(`learn takes no argument, got ${positionals.join(" ")}`);
    return lab.run(values, [COURSE], io);
  },
};
