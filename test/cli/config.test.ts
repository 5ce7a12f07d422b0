// `nodelet config`: what is in force, and what is said about it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "../../src/cli/cli.ts";
import { fakeIo } from "./fake-io.ts";

async function run(...argv: readonly string[]) {
  const io = fakeIo();
  const code = await runCommand(argv, io, () => new AbortController().signal);
  return { code, out: io.out(), err: io.err() };
}

test("`nodelet config view` puts flags over defaults and says where each comes from", async () => {
  const { code, out } = await run(
    "config",
    "view",
    "--changed",
    "--config",
    "",
    "--",
    "--max-pods=7",
  );
  assert.equal(code, 0);
  assert.match(out, /^maxPods +7 +--max-pods$/m);
  const wrong = await run("config", "view", "--config", "", "--", "--max-pods=-1");
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /^nodelet: --max-pods: maxPods: Invalid value: -1/m);
});

test("`nodelet config review` names what the benchmark would have otherwise", async () => {
  const { code, out } = await run(
    "config",
    "review",
    "--config",
    "",
    "--",
    "--read-only-port=10255",
  );
  assert.equal(code, 1);
  assert.match(out, /^4\.2\.4 +no +readOnlyPort: 0$/m);
  assert.match(out, /^4\.1\.9 +n\/a [\s\S]*^4\.2\.6 +yes [\s\S]*^4\.2\.15 /m);
  assert.equal((await run("config", "review", "--config", "", "--", "--no-such")).code, 2);
});

test("`nodelet config review` names what changes from 1.36 to 1.37, also where that is refused", async () => {
  const review = ["config", "review", "--config", "", "--"];
  const { out } = await run(...review, "--containerd=/x", "--feature-gates=MemoryQoS=true");
  assert.match(out, /^--containerd +deprecated +ignored +a Go kubelet 1\.37 does not start/m);
  assert.match(out, /^featureGates\.PodsAPI +off +on +the pods API is served/m);
  assert.doesNotMatch(out, /^featureGates\.MemoryQoS /m);
  const refused = await run(...review, "--feature-gates=SidecarContainers=true");
  assert.equal(refused.code, 2);
  assert.match(refused.err, /unrecognized feature gate: SidecarContainers/);
  assert.match(refused.out, /^featureGates\[SidecarContainers\] +accepted +refused /m);
});
