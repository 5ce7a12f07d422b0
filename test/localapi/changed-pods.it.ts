// Running pods that kubectl inspects and changes: debug, set image, patch, delete; one machine for all.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, ContainerStatus, Pod, PodSpec } from "../../src/api/generated/types.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { STAY } from "../support/stay.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { Kubectl, PROGRAMS, programOf } from "./kubectl.ts";

const IMAGE = "localhost/nodelet/hello:1";
const REGISTRY = "127.0.0.1:5000";
const WAIT_MS = 40_000 * TIMEOUT_FACTOR;

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;

let node: NodeBox;
let kubectl: Kubectl;

const k = (...args: readonly string[]) => kubectl.run(args);

const shell = (name: string, script: string, more: Partial<Container> = {}): Container => ({
  name,
  image: IMAGE,
  imagePullPolicy: "IfNotPresent",
  command: ["sh", "-c", script],
  ...more,
});

async function apply(...objects: readonly object[]): Promise<void> {
  const items = objects.map((object) => ({ apiVersion: "v1", ...object }));
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await kubectl.run(["apply", "-f", "-"], { stdin });
}

const podOf = (name: string, spec: Partial<PodSpec>) => ({
  kind: "Pod",
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 2, dnsPolicy: "Default", ...spec },
});

const read = async (name: string) => JSON.parse(await k("get", "pod", name, "-o", "json")) as Pod;

/** Waits until the pod is as `test` says. */
async function until(name: string, what: string, holds: (pod: Pod) => boolean): Promise<Pod> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const pod = await read(name);
    if (holds(pod)) return pod;
    assert.ok(performance.now() < deadline, `${name}: ${what}: ${JSON.stringify(pod.status)}`);
    await sleep(200);
  }
}

/** Waits until the API answers again: it goes and comes with the agent. */
async function served(): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await k("get", "nodes").catch(() => undefined))) {
    assert.ok(performance.now() < deadline, "the API does not come back");
    await sleep(200);
  }
}

function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  return [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find((each) => each.name === name);
}

const isReady = ({ status }: Pod) =>
  status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true;

const eventsOf = (name: string) =>
  k("get", "events", "--field-selector", `involvedObject.name=${name}`);

before(async () => {
  if (skip !== false) return;
  node = await bareMachine();
  await node.run("up", "--demo", "--detach", "--until-ready");
  kubectl = new Kubectl(node, program ?? "");
  const [, port = ""] = REGISTRY.split(":");
  const registry = new URL("../images/registry.ts", import.meta.url).pathname;
  node.box.spawn([process.execPath, registry, port]);
  await apply(
    podOf("seen", {
      restartPolicy: "Never",
      containers: [shell("main", "exec sleep 77777"), shell("gone", "exit 0")],
    }),
    podOf("changed", {
      initContainers: [shell("side", STAY, { restartPolicy: "Always" })],
      containers: [shell("main", STAY), shell("other", STAY)],
    }),
    podOf("preparing", {
      initContainers: [shell("prep", "until [ -e /tmp/go ]; do sleep 0.1; done")],
      containers: [shell("main", STAY)],
    }),
    podOf("timed", { containers: [shell("main", `echo begun; ${STAY}`)] }),
    podOf("slow", {
      terminationGracePeriodSeconds: 300,
      containers: [
        shell("main", STAY, { lifecycle: { preStop: { exec: { command: ["sleep", "200"] } } } }),
      ],
    }),
  );
});
after(() => node?.[Symbol.asyncDispose]());

describe("kubectl debug", { skip }, () => {
  const debug = (name: string, target: string, script: string) =>
    ["debug", "seen", `--image=${IMAGE}`, "--image-pull-policy=Never", "-c", name].concat(
      `--target=${target}`,
      ...["--", "sh", "-c", script],
    );

  test("a container that sees another's processes runs once, over a restart of the agent too", async () => {
    await until(
      "seen",
      "both have started",
      (pod) => statusOf(pod, "gone")?.state?.terminated !== undefined,
    );
    await k(...debug("first", "main", "ps; exit 4"));
    await k(...debug("second", "main", STAY));
    const [first, second] = await settled();
    assert.equal(first?.state?.terminated?.exitCode, 4);
    assert.match(await k("logs", "seen", "-c", "first"), /^ +1 .*sleep 77777$/m);
    const { stdout: agent } = await node.box.exec(["pgrep", "-f", "nodelet.cjs run"]);
    await node.box.run(["kill", "-9", agent.trim()]);
    await served();
    await k(...debug("third", "main", STAY));
    await until(
      "seen",
      "the third runs",
      (pod) => statusOf(pod, "third")?.state?.running !== undefined,
    );
    const [again, still] = await settled();
    assert.deepEqual([again, still], [first, second]);
  });

  async function settled() {
    const pod = await until(
      "seen",
      "one has ended, one runs",
      (pod) =>
        statusOf(pod, "first")?.state?.terminated !== undefined &&
        statusOf(pod, "second")?.state?.running !== undefined,
    );
    return [statusOf(pod, "first"), statusOf(pod, "second")];
  }

  test("a container that debug cannot target is reported", async () => {
    await k(...debug("late", "gone", "ps"));
    const pod = await until(
      "seen",
      "the runtime has refused",
      (pod) => statusOf(pod, "late")?.state?.waiting?.message !== undefined,
    );
    const { reason, message } = statusOf(pod, "late")?.state?.waiting ?? {};
    assert.equal(reason, "CreateContainerError");
    assert.match(message ?? "", /invalid target container: .* is not running/);
    assert.ok(statusOf(pod, "main")?.state?.running);
    const astray = await kubectl.run(debug("lost", "nobody", "ps"), { code: 1 });
    assert.match(astray, /targetContainerName: Not found: "nobody"/);
    const pods = await k("get", "pods", "-o", "name");
    const mirror = /hello-\S+/.exec(pods)?.[0] ?? "";
    const refused = await kubectl.run(["debug", mirror, `--image=${IMAGE}`, "-c", "x"], {
      code: 1,
    });
    assert.match(refused, /is invalid: \[\]: Forbidden: static pods do not support ephemeral/);
  });
});

describe("changes", { skip }, () => {
  test("another image restarts its container alone, a sidecar too", async () => {
    const image = `${REGISTRY}/ok/app:1`;
    const before = await until("changed", "is ready", isReady);
    await k("set", "image", "pod/changed", `main=${image}`);
    const isNew = (name: string) => (pod: Pod) =>
      isReady(pod) && statusOf(pod, name)?.image === image;
    await until("changed", "main is new", isNew("main"));
    await k("set", "image", "pod/changed", `side=${image}`);
    const changed = await until("changed", "side is new", isNew("side"));
    for (const name of ["main", "side"]) {
      const status = statusOf(changed, name);
      assert.equal(status?.restartCount, 1, name);
      assert.notEqual(status?.imageID, statusOf(before, name)?.imageID);
      assert.equal(status?.lastState?.terminated?.containerID, statusOf(before, name)?.containerID);
    }
    assert.deepEqual(statusOf(changed, "other"), statusOf(before, "other"));
    const events = await eventsOf("changed");
    assert.match(events, /Killing .*Container main definition changed, will be restarted$/m);
    assert.match(events, /Killing .*Init container side definition changed$/m);
    assert.doesNotMatch(events, /BackOff/);
  });

  test("an init container at work finishes with the image it began with", async () => {
    const at = await until(
      "preparing",
      "is at work",
      (pod) => statusOf(pod, "prep")?.state?.running !== undefined,
    );
    await k("set", "image", "pod/preparing", `prep=${REGISTRY}/ok/app:1`);
    await until(
      "preparing",
      "the change is seen",
      ({ metadata, status }) =>
        metadata?.generation === 2 && status?.observedGeneration === metadata.generation,
    );
    await sleep(2_000);
    await k("exec", "preparing", "-c", "prep", "--", "touch", "/tmp/go");
    const prep = statusOf(await until("preparing", "is ready", isReady), "prep");
    assert.equal(prep?.containerID, statusOf(at, "prep")?.containerID);
    assert.equal(prep?.state?.terminated?.exitCode, 0);
    assert.equal(prep?.restartCount, 0);
    assert.doesNotMatch(await eventsOf("preparing"), /Killing/);
  });

  test("a deadline that is set and shortened ends the pod, whose log stays", async () => {
    await until("timed", "is ready", isReady);
    const patch = (seconds: number) => [
      ...["patch", "pod", "timed", "-p"],
      `{"spec":{"activeDeadlineSeconds":${seconds}}}`,
    ];
    await k(...patch(900));
    const longer = await kubectl.run(patch(901), { code: 1 });
    assert.match(longer, /activeDeadlineSeconds: .*must be less than or equal to previous value/);
    await k(...patch(1));
    const { status } = await until("timed", "has ended", (pod) => pod.status?.phase === "Failed");
    assert.equal(status?.reason, "DeadlineExceeded");
    assert.equal(status?.message, "Pod was active on the node longer than the specified deadline");
    assert.match(await k("logs", "timed"), /^begun$/m);
  });

  test("of two deletions the shorter grace counts, whatever the hook still does", async () => {
    await until("slow", "is ready", isReady);
    await k("delete", "pod", "slow", "--wait=false");
    await k("delete", "pod", "slow", "--now", "--wait=false");
    await k("wait", "--for=delete", "pod/slow", "--timeout=30s");
  });
});

describe("pull secrets", { skip }, () => {
  const secret = (password: string) => ({
    kind: "Secret",
    metadata: { name: "key" },
    type: "kubernetes.io/dockerconfigjson",
    stringData: {
      ".dockerconfigjson": JSON.stringify({
        auths: { [REGISTRY]: { username: "user", password } },
      }),
    },
  });

  test("those of the service account count; once corrected, the next try has them", async () => {
    const image = `${REGISTRY}/auth/app:1`;
    await apply(
      secret("wrong"),
      { kind: "ServiceAccount", metadata: { name: "puller" }, imagePullSecrets: [{ name: "key" }] },
      podOf("pulls", {
        serviceAccountName: "puller",
        containers: [shell("main", STAY, { image })],
      }),
      podOf("misses", {
        imagePullSecrets: [{ name: "nowhere" }],
        containers: [shell("main", STAY, { image })],
      }),
    );
    for (const name of ["pulls", "misses"])
      await until(name, "is refused", (pod) =>
        /^(ErrImagePull|ImagePullBackOff)$/.test(
          statusOf(pod, "main")?.state?.waiting?.reason ?? "",
        ),
      );
    assert.match(
      await eventsOf("misses"),
      /FailedToRetrieveImagePullSecret .*Unable to retrieve some image pull secrets \(nowhere\); attempting to pull the image may not succeed\.$/m,
    );
    await apply(secret("secret"));
    await until("pulls", "is ready", isReady);
  });
});
