// Ten defects put into the agent by hand: the part of the node suite that every run of the tests plays notices at least eight.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { focusOn } from "../../tools/conformance/options.ts";
import { partOfSuite } from "../../tools/conformance/part.ts";
import { nodeSuiteObstacle, prepareParts, resultsFolder } from "../../tools/conformance/parts.ts";
import { runSuite } from "../../tools/conformance/run-suite.ts";

const ROOT = join(import.meta.dirname, "../..");
const PROCS = 10;
const NOTICED_AT_LEAST = 8;
/** What a build needs, and the program that is built. */
const COPIED = ["package.json", "src", "tools", "assets", "bin", "examples", "docs"];

interface Defect {
  readonly name: string;
  readonly file: string;
  readonly line: string;
  readonly instead: string;
}

const DEFECTS: readonly Defect[] = [
  {
    name: "a probe counts one failure less",
    file: "src/subsystems/probes/verdict.ts",
    line: "if (run < threshold) return",
    instead: "if (run < threshold - 1) return",
  },
  {
    name: "the status has no hostIPs",
    file: "src/pipeline/status/derive.ts",
    line: "{ hostIP: primary, hostIPs: all }",
    instead: "{ hostIP: primary }",
  },
  {
    name: "a container that was killed has the exit code 1",
    file: "src/pipeline/status/container-status.ts",
    line: "exitCode: attempt.exitCode,",
    instead: "exitCode: attempt.exitCode === 137 ? 1 : attempt.exitCode,",
  },
  {
    name: "readiness gates are ignored",
    file: "src/pipeline/status/pod-conditions.ts",
    line: "of pod.spec?.readinessGates ?? []",
    instead: "of [] as readonly { conditionType: string }[]",
  },
  {
    name: "unhealthy devices can be allocated",
    file: "src/subsystems/devices/inventory.ts",
    line: ".filter(({ healthy }) => healthy)",
    instead: "",
  },
  {
    name: "a probe's own grace period is ignored",
    file: "src/pipeline/pods/plan/plan-containers.ts",
    line: "probe?.terminationGracePeriodSeconds ?? graceSecondsOf(record.pod)",
    instead: "probe === undefined ? graceSecondsOf(record.pod) : graceSecondsOf(record.pod)",
  },
  {
    name: "a pod's cgroup does not count its overhead",
    file: "src/api/pod/pod-resources.ts",
    line: "const overhead = amountsOf(spec.overhead);",
    instead: "const overhead = amountsOf(undefined);",
  },
  {
    name: "hooks after the start do not run",
    file: "src/pipeline/ports/hook-port.ts",
    line: "if (hook) await hooks.run(",
    instead: "if (hook && id === name) await hooks.run(",
  },
  {
    name: "files of secrets have the usual mode",
    file: "src/subsystems/volumes/payloads.ts",
    line: "      mode: defaultMode,",
    instead: "      mode: 0o644 + 0 * defaultMode,",
  },
  {
    name: "variables in commands are not expanded",
    file: "src/api/env/expand.ts",
    line: "result += lookup(name) ??",
    instead: 'result += lookup("") ??',
  },
];

const say = (text: string) => process.stderr.write(`defects: ${text}\n`);

/** Path of a kubelet with the defect. The folder is not below /tmp: the node of the suite has its own. */
async function built({ file, line, instead }: Defect): Promise<string> {
  const folder = resultsFolder("defect", "build");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const text = readFileSync(join(folder, file), "utf8");
  assert.equal(text.split(line).length, 2, `${file} has not once: ${line}`);
  writeFileSync(
    join(folder, file),
    text.replace(line, () => instead),
  );
  await promisify(execFile)(process.execPath, [join(folder, "tools/build.mjs")]);
  return join(folder, "bin/nodelet");
}

/** The first spec that fails with this kubelet; undefined when all of the part pass. */
async function firstFailure(kubelet: string): Promise<string | undefined> {
  const parts = await prepareParts({ kind: "path", path: kubelet }, say);
  const folder = resultsFolder("defect", "nodelet");
  const selection = { focus: focusOn(partOfSuite()), skip: [] };
  const { signal } = new AbortController();
  const outcomes = await runSuite({
    parts,
    selection,
    procs: PROCS,
    folder,
    signal,
    say: () => {},
    toFirstFailure: true,
  });
  assert.ok(outcomes.length > 0, "no spec has run");
  return outcomes.find(({ outcome }) => outcome === "failed")?.name;
}

test("the part of the node suite notices defects of the agent", {
  skip: nodeSuiteObstacle() ?? false,
}, async (t) => {
  const report = (text: string): void => {
    t.diagnostic(text);
    say(text);
  };
  assert.equal(await firstFailure(join(ROOT, "bin/nodelet")), undefined, "without a defect");
  let noticed = 0;
  for (const defect of DEFECTS) {
    const by = await firstFailure(await built(defect));
    if (by !== undefined) noticed += 1;
    report(`${defect.name}: ${by === undefined ? "not noticed" : `noticed by ${by}`}`);
  }
  assert.ok(noticed >= NOTICED_AT_LEAST, `${noticed} of ${DEFECTS.length} noticed`);
});
