/** Integration files that run one after the other in one guest, each as a test of its own. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { checkoutScript } from "../../tools/guest/uml/checkout-script.ts";
import { runInMachine } from "../../tools/guest/uml/machine.mjs";
import { buildStep } from "../../tools/setup/build-step.mjs";

const ABOUT =
  'echo "guest runs $(uname -r), $(stat -f -c %T /sys/fs/cgroup), $(cat /proc/1/comm), $(containerd --version | cut -d" " -f1,3)"';

/** What `run-files.mjs` writes of a file. */
interface FileResult {
  readonly path: string;
  readonly passed: number;
  readonly failures: readonly { readonly name: string; readonly error: string }[];
  readonly skips: readonly { readonly name: string; readonly reason: string }[];
  readonly seconds: number;
  readonly output: string;
}

/**
 * Boots the guest, runs the files there, and fails for each that failed or did not come to its end. Before a path stands
 * the first process of its boxes: `sh:` or `systemd:`.
 */
export async function runBatch(
  t: TestContext,
  paths: readonly string[],
  timeoutMs: number,
): Promise<void> {
  // Here: esbuild needs half an hour there.
  await buildStep({ types: false });
  const results = new Map<string, FileResult>();
  const lines: string[] = [];
  const onLine = (line: string): void => {
    const [, json] = /^result (\{.*\})$/.exec(line) ?? [];
    if (json === undefined) {
      lines.push(line);
      return;
    }
    const result = JSON.parse(json) as FileResult;
    results.set(result.path, result);
    console.log(
      `${result.path}: ${result.passed} passed, ${result.failures.length} failed (${result.seconds.toFixed(1)} s)`,
    );
  };
  const { command, folders } = checkoutScript(["tools/guest/uml/run-files.mjs", ...paths]);
  const { code } = await runInMachine(`${ABOUT}\n${command}`, { timeoutMs, onLine, folders });
  for (const path of paths)
    await t.test(path, () => {
      const result = results.get(path);
      assert.ok(result, `did not come to its end\n${lines.slice(-200).join("\n")}`);
      const failed = result.failures.map(({ name, error }) => `${name}: ${error}`);
      assert.deepEqual(failed, [], `${failed.join("\n")}\n${result.output}`);
      assert.ok(result.passed > 0, "no test of the file ran");
    });
  assert.equal(code, 0, lines.slice(-200).join("\n"));
  const about = lines.find((line) => line.startsWith("guest runs "));
  assert.match(about ?? "", /cgroup2fs.*containerd.* 2\./, lines.join("\n"));
  console.log(about);
}
