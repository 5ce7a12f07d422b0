import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { aContainer, aPod, aRecord, aSandbox } from "../../../../test/support/pods.ts";
import { makeDecision } from "../../../api/decisions.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { createSeededRandom } from "../../../kit/random.ts";
import type { CreateContainerOptions, PodPorts } from "../ports.ts";
import type { Run } from "./run.ts";
import { startContainer } from "./start-container.ts";

const lifecycle = { postStart: { exec: { command: ["true"] } } };
const pod = aPod({ containers: [aContainer("a", { lifecycle })] });
const ACTION = {
  kind: "startContainer",
  name: "a",
  containerKind: "regular",
  restartCount: 0,
  sandboxId: "sb-1",
  backoff: undefined,
  decision: makeDecision("startContainer", "never started", {
    container: "a",
    restartCount: 0,
    policy: "Always",
  }),
} as const;

/** A run whose containers start, and what it did. */
function aRun(
  postStart: PodPorts["hooks"]["postStart"],
  signal: AbortSignal,
  faults: { readonly create?: Error; readonly start?: Error } = {},
) {
  const did: string[] = [];
  const made: CreateContainerOptions[] = [];
  const images: PodPorts["images"] = {
    ensure: async () => ({
      kind: "present",
      image: { ref: "sha256:1", user: { uid: undefined, username: "" } },
      release: () => {},
    }),
  };
  const runtime: Pick<PodPorts["runtime"], "createAttempt" | "startContainer" | "stopContainer"> = {
    createAttempt: async (options) => {
      if (faults.create) throw faults.create;
      made.push(options);
      return "a-0";
    },
    startContainer: async () => {
      if (faults.start) throw faults.start;
    },
    stopContainer: async (id, seconds) => void did.push(`stop ${id}(${seconds})`),
  };
  const hooks: PodPorts["hooks"] = {
    postStart,
    preStop: async (_, { name }) => {
      did.push(`pre-stop ${name}`);
      return 4;
    },
  };
  const events: PodPorts["events"] = {
    ofPod: (_, { reason, message }) => void did.push(`${reason}: ${message}`),
  };
  const resizes = { starting: async () => {} };
  const prerequisites = { thawCgroup: async () => {} };
  const ports = { prerequisites, images, runtime, hooks, events, resizes } as unknown as PodPorts;
  const old = aSandbox({ id: "sb-0", ready: false, ips: ["10.1.0.1"] });
  const record = aRecord({ pod, sandboxes: [old] });
  const clock = new SimClock();
  const deps = { clock, random: createSeededRandom(1), log: silentLog, ports };
  const run: Run = { record, deps, signal, sandboxId: "sb-1" };
  return { run, did, made };
}

test("startContainer: the hook's message becomes the status, and the container is killed as any other", async () => {
  const { run, did, made } = aRun(async () => {
    throw new Error("no such file");
  }, new AbortController().signal);
  const result = await startContainer(ACTION, run);
  assert.deepEqual(did, [
    "Created: Container created",
    "Started: Container started",
    "FailedPostStartHook: PostStartHook failed",
    "Killing: FailedPostStartHook",
    "pre-stop a",
    "stop a-0(26)",
  ]);
  assert.deepEqual(result?.outcome, {
    kind: "failed",
    reason: "PostStartHookError",
    message: "no such file",
    retryInMs: 0,
  });
  assert.deepEqual(made[0]?.podIps, [], "those of another sandbox are not its own");
});

test("startContainer: a hook that is given up has not failed", async () => {
  const over = new AbortController();
  const { run, did } = aRun(async () => {
    over.abort(new Error("superseded"));
    throw new Error("aborted");
  }, over.signal);
  await assert.rejects(startContainer(ACTION, run), /superseded/);
  assert.deepEqual(did, ["Created: Container created", "Started: Container started"]);
});

for (const step of ["create", "start"] as const)
  test(`startContainer: the runtime's message is reported without the gRPC status: ${step}`, async () => {
    const fault = new OutsideError(
      "io",
      'rpc error: code = Unknown desc = exec: "/nope": not found',
    );
    const { signal } = new AbortController();
    const { run, did } = aRun(async () => {}, signal, { [step]: fault });
    const result = await startContainer(ACTION, run);
    assert.equal(did.at(-1), 'Failed: Error: exec: "/nope": not found');
    assert.equal(
      result?.outcome.kind === "failed" && result.outcome.message,
      'exec: "/nope": not found',
    );
  });
