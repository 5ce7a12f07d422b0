// In the guest: runs test files one after the other and writes a line `result` with JSON for each, as `runFile` gives it.
// What stands before a path is the first process of the boxes: with systemd the cgroup driver is systemd, too.
//   node tools/guest/uml/run-files.mjs sh:test/a.it.ts systemd:test/b.it.ts
import { judgeSkips } from "../../testing/accepted-skips.mjs";
import { runFile } from "../../testing/run-file.mjs";

const KEPT_CHARACTERS = 20_000;

for (const argument of process.argv.slice(2)) {
  const [init, path] = argument.split(":");
  process.env.NODELET_BOX_INIT = init;
  const result = judgeSkips(await runFile({ path, kind: "integration" }));
  const output = result.failures.length > 0 ? result.output.slice(-KEPT_CHARACTERS) : "";
  process.stdout.write(`result ${JSON.stringify({ ...result, path: argument, output })}\n`);
}
