// Containers that the agent ends and starts again, by restart policy, seen through an API that refuses what a
// 1.36 API server refuses: a status that shows one as terminated in between would be the last that it takes.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, ContainerStatus, Pod } from "../../src/api/generated/types.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { STAY } from "../support/stay.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { Kubectl, PROGRAMS, programOf } from "./kubectl.ts";

const IMAGE = "localhost/nodelet/hello:1";
const REGISTRY = "127.0.0.1:5000";
const OTHER_IMAGE = `${REGISTRY}/ok/app:1`;
const WAIT_MS = 60_000 * TIMEOUT_FACTOR;
const POLICIES = ["Always", "OnFailure", "Never"] as const;
const CASES = ["image", "liveness", "startup", "untouched"] as const;

/** Counts its starts where they outlive the container. */
const COUNT = "echo x >>/kept/starts";

type Policy = (typeof POLICIES)[number];
type Case = (typeof CASES)[number];

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;

let node: NodeBox;
let kubectl: Kubectl;

const nameOf = (policy: Policy, what: Case) => `${what}-${policy.toLowerCase()}`;

const exec = (script: string) => ({
  exec: { command: ["sh", "-c", script] },
  periodSeconds: 1,
  failureThreshold: 1,
  timeoutSeconds: 20,
});

const PROBES: Readonly<Record<Case, Partial<Container>>> = {
  image: {},
  liveness: { livenessProbe: exec("[ ! -e /tmp/sick ]") },
  startup: { startupProbe: exec("[ $(wc -l </kept/starts) -gt 1 ]") },
  untouched: {},
};

function podOf(policy: Policy, what: Case): object {
  const main = {
    name: "main",
    image: IMAGE,
    imagePullPolicy: "IfNotPresent",
    command: ["sh", "-c", `${COUNT}; ${STAY}`],
    volumeMounts: [{ name: "kept", mountPath: "/kept" }],
    ...PROBES[what],
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: nameOf(policy, what) },
    spec: {
      restartPolicy: policy,
      terminationGracePeriodSeconds: 5,
      dnsPolicy: "Default",
      containers: [main],
      volumes: [{ name: "kept", emptyDir: {} }],
    },
  };
}

const read = async (name: string) =>
  JSON.parse(await kubectl.run(["get", "pod", name, "-o", "json"])) as Pod;

/** Waits until the pod is as `holds` says. */
async function until(name: string, what: string, holds: (pod: Pod) => boolean): Promise<Pod> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const pod = await read(name);
    if (holds(pod)) return pod;
    assert.ok(performance.now() < deadline, `${name}: ${what}: ${JSON.stringify(pod.status)}`);
    await sleep(300);
  }
}

const mainOf = ({ status }: Pod): ContainerStatus | undefined => status?.containerStatuses?.[0];

before(async () => {
  if (skip !== false) return;
  node = await bareMachine();
  await node.run("up", "--demo", "--detach", "--until-ready");
  kubectl = new Kubectl(node, program ?? "");
  const registry = new URL("../images/registry.ts", import.meta.url).pathname;
  node.box.spawn([process.execPath, registry, REGISTRY.split(":")[1] ?? ""]);
  const items = POLICIES.flatMap((policy) => CASES.map((what) => podOf(policy, what)));
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await kubectl.run(["apply", "-f", "-"], { stdin });
});
after(() => node?.[Symbol.asyncDispose]());

/** Does to the pod what its name says, once it runs. */
async function disturb(policy: Policy, what: Case): Promise<void> {
  const name = nameOf(policy, what);
  if (what === "startup") return;
  await until(name, "runs", (pod) => mainOf(pod)?.state?.running !== undefined);
  if (what === "image") await kubectl.run(["set", "image", `pod/${name}`, `main=${OTHER_IMAGE}`]);
  if (what === "liveness") await kubectl.run(["exec", name, "--", "touch", "/tmp/sick"]);
}

/** What the Go kubelet shows in the end: a failed probe ends what is never restarted, another image does not. */
const endsFor = (policy: Policy, what: Case) =>
  policy === "Never" && (what === "liveness" || what === "startup");

describe("the status in the end, through the API", { skip }, () => {
  for (const policy of POLICIES)
    for (const what of CASES)
      test(`restartPolicy ${policy}: ${what}`, async () => {
        const name = nameOf(policy, what);
        await disturb(policy, what);
        if (endsFor(policy, what)) {
          const pod = await until(name, "ends", ({ status }) => status?.phase === "Succeeded");
          const { state, restartCount, ready } = mainOf(pod) ?? {};
          assert.deepEqual([restartCount, ready], [0, false]);
          assert.equal(state?.terminated?.exitCode, 0);
          assert.equal(state?.terminated?.reason, "Completed");
          return;
        }
        const starts = what === "untouched" ? 0 : 1;
        const pod = await until(name, "runs again, ready", (now) => {
          const main = mainOf(now);
          return main?.restartCount === starts && main.ready && main.state?.running !== undefined;
        });
        const main = mainOf(pod);
        assert.equal(pod.status?.phase, "Running");
        assert.equal(main?.started, true);
        assert.equal(main?.image, what === "image" ? OTHER_IMAGE : IMAGE);
        const ended = main?.lastState?.terminated;
        if (starts === 0) return assert.deepEqual(main?.lastState, {});
        assert.deepEqual([ended?.exitCode, ended?.reason], [0, "Completed"]);
        assert.notEqual(ended?.containerID, main?.containerID);
      });

  test("nothing that was written was refused", async () => {
    const { stdout } = await node.box.exec([
      ...["sh", "-c"],
      "cat /var/log/nodelet/*.log 2>/dev/null; true",
    ]);
    assert.notEqual(stdout, "", "the agent has a log");
    assert.doesNotMatch(stdout, /is invalid: .*status\./);
    assert.doesNotMatch(stdout, /omitting part of a pod's status/);
  });
});
