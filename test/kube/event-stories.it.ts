// Four stories on a real node of a real API server, as `kubectl describe pod` and `kubectl get events` show
// them: a crash loop, a failing probe, a missing image, a bad mount.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { CoreEvent, CoreEventList, Pod } from "../../src/api/generated/types.ts";
import type { EventMode } from "../../src/subsystems/events/events.ts";
import { type Box, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { STAY } from "../support/agent.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { type ApiServer, apiServerObstacle, startApiServer } from "./apiserver.ts";
import type { EventNode } from "./event-node.ts";

const skip = apiServerObstacle() ?? false;
const PROGRAM = join(import.meta.dirname, "event-node.ts");
const NODE = "node-1";
const TIMEOUT_MS = 120_000 * TIMEOUT_FACTOR;

type Container = NonNullable<NonNullable<Pod["spec"]>["containers"]>[number];

interface Story {
  readonly container: Partial<Container>;
  readonly volumes?: NonNullable<Pod["spec"]>["volumes"];
  /** Type, reason and message of what the kubelet says, in the order in which each is first reported. */
  readonly reported: readonly Saying[];
  /** What else may be reported when the machine takes its time. */
  readonly maybe?: readonly Saying[];
}

type Saying = readonly [type: string, reason: string, message: RegExp];

const PRESENT = [
  "Normal",
  "Pulled",
  /^Container image "nodelet\.test\/nodelet-test:1" already present on machine and can be accessed by the pod$/,
] as const;
const CREATED = ["Normal", "Created", /^Container created$/] as const;
const STARTED = ["Normal", "Started", /^Container started$/] as const;

const STORIES: Readonly<Record<string, Story>> = {
  crash: {
    container: { command: ["sh", "-c", "exit 3"] },
    reported: [
      PRESENT,
      CREATED,
      STARTED,
      [
        "Warning",
        "BackOff",
        /^Back-off restarting failed container main in pod crash_default\([0-9a-f-]{36}\)$/,
      ],
    ],
  },
  probe: {
    container: {
      command: [...STAY],
      livenessProbe: {
        exec: { command: ["sh", "-c", "echo broken; exit 1"] },
        periodSeconds: 1,
        timeoutSeconds: 30,
        failureThreshold: 3,
      },
    },
    maybe: [
      ["Warning", "BackOff", /^Back-off restarting failed container main in pod probe_default/],
    ],
    reported: [
      PRESENT,
      CREATED,
      STARTED,
      ["Warning", "Unhealthy", /^Liveness probe failed: broken\n?$/],
      ["Normal", "Killing", /^Container main failed liveness probe, will be restarted$/],
    ],
  },
  image: {
    container: { image: "nodelet.invalid/none:1", command: [...STAY] },
    reported: [
      ["Normal", "Pulling", /^Pulling image "nodelet\.invalid\/none:1"$/],
      ["Warning", "Failed", /^Failed to pull image "nodelet\.invalid\/none:1": /],
      ["Warning", "Failed", /^Error: ErrImagePull$/],
      ["Normal", "BackOff", /^Back-off pulling image "nodelet\.invalid\/none:1"$/],
      ["Warning", "Failed", /^Error: ImagePullBackOff$/],
    ],
  },
  mount: {
    container: { command: [...STAY], volumeMounts: [{ name: "data", mountPath: "/data" }] },
    volumes: [{ name: "data", hostPath: { path: "/etc/hostname", type: "Directory" } }],
    reported: [
      [
        "Warning",
        "FailedMount",
        /^MountVolume\.SetUp failed for volume "data" : hostPath type check failed: \/etc\/hostname is not a directory, it's a File$/,
      ],
    ],
  },
};

function podOf(name: string, { container, volumes = [] }: Story): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      nodeName: NODE,
      terminationGracePeriodSeconds: 2,
      volumes,
      containers: [{ name: "main", image: TEST_IMAGE, ...container }],
    },
  };
}

for (const mode of ["Protected", "Reference"] as const)
  test(`${mode}: four stories as kubectl shows them`, { skip }, () =>
    withBox({}, async (box) => {
      await using server = await startApiServer({ box });
      const log = await startNode(box, server, mode);
      for (const [name, story] of Object.entries(STORIES))
        await server.must("POST", "/api/v1/namespaces/default/pods", podOf(name, story));
      for (const [name, story] of Object.entries(STORIES)) {
        const events = await untilSaid(server, name, story, log);
        for (const event of events) assertFields(event, name);
        const description = await server.kubectl(["describe", "pod", name]);
        assertDescribed(description, story);
        const table = await server.kubectl([
          "get",
          "events",
          "--field-selector",
          `involvedObject.name=${name}`,
        ]);
        for (const [type, reason] of story.reported)
          assert.match(table, new RegExp(`^\\S+ +${type} +${reason} +pod/${name} +\\S`, "m"));
      }
    }),
  );

/** The agent in the box; resolves with a way to its log once it runs. */
async function startNode(box: Box, server: ApiServer, mode: EventMode): Promise<() => string> {
  const user = { name: `system:node:${NODE}`, groups: ["system:nodes"] };
  const options: EventNode = {
    nodeName: NODE,
    server: server.url,
    authoritiesPem: server.caPem,
    identity: await server.authority.client(user),
    events: { mode },
  };
  const file = join(server.folder, "event-node.json");
  writeFileSync(file, JSON.stringify(options), { mode: 0o600 });
  const running = box.spawnLogged("event-node", [process.execPath, PROGRAM, file]);
  const log = () => readFileSync(join(box.folder, "event-node.log"), "utf8");
  const deadline = performance.now() + TIMEOUT_MS;
  while (!log().includes("agent is running")) {
    if (!running.running || performance.now() > deadline) throw new Error(`no agent:\n${log()}`);
    await sleep(50);
  }
  return log;
}

/** Waits until everything was reported; gives the events of the pod in the order in which they were first reported. */
async function untilSaid(
  server: ApiServer,
  name: string,
  { reported, maybe = [] }: Story,
  log: () => string,
): Promise<readonly CoreEvent[]> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${name}`;
    const { items } = await server.must<CoreEventList>("GET", path);
    const events = items.toSorted((a, b) =>
      (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1,
    );
    const lines = events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
    if (isAllSaid(events, reported)) {
      for (const event of events)
        assert.ok(
          [...reported, ...maybe].some((saying) => isSaid(event, saying)),
          `${event.reason} is not of this story:\n${lines.join("\n")}`,
        );
      return events;
    }
    if (performance.now() > deadline)
      throw new Error(`of ${name} is reported:\n${lines.join("\n")}\n${log().slice(-4000)}`);
    await sleep(200);
  }
}

/** Whether all expected events occurred, each for the first time in this order. */
function isAllSaid(events: readonly CoreEvent[], reported: readonly Saying[]): boolean {
  let from = 0;
  return reported.every((saying) => {
    const at = events.findIndex((event, i) => i >= from && isSaid(event, saying));
    from = at + 1;
    return at >= 0;
  });
}

function isSaid(event: CoreEvent, [type, reason, message]: Saying): boolean {
  return event.type === type && event.reason === reason && message.test(event.message ?? "");
}

/** What the Go kubelet sets in every event of a pod. */
function assertFields(event: CoreEvent, name: string): void {
  const { involvedObject, source, metadata, count = 0, firstTimestamp, lastTimestamp } = event;
  assert.equal(involvedObject.kind, "Pod");
  assert.equal(involvedObject.apiVersion, "v1");
  assert.match(involvedObject.uid ?? "", /^[0-9a-f-]{36}$/);
  assert.match(involvedObject.resourceVersion ?? "", /^\d+$/);
  const ofContainer = event.reason !== "FailedMount";
  assert.equal(involvedObject.fieldPath, ofContainer ? "spec.containers{main}" : undefined);
  assert.deepEqual(source, { component: "kubelet", host: NODE });
  assert.match(metadata.name ?? "", new RegExp(`^${name}\\.[0-9a-f]{16}$`));
  assert.equal(metadata.annotations, undefined);
  assert.ok(count >= 1);
  assert.ok((firstTimestamp ?? "~") <= (lastTimestamp ?? ""));
}

/** The rows of the table of events: `Type Reason Age From Message`. */
function assertDescribed(description: string, { reported }: Story): void {
  const table = description.slice(description.indexOf("\nEvents:"));
  assert.match(table, /^ +Type +Reason +Age +From +Message$/m);
  for (const [type, reason, message] of reported) {
    const rows = table.split("\n").filter((line) => line.startsWith(`  ${type}  `));
    const texts = rows.flatMap((row) => {
      const [, of, text] =
        // kubectl since 1.37 puts the container before the message.
        /^ {2}\w+ +(\w+) +\S+(?: \(x\d+ over \S+\))? +kubelet +(?:spec\.\S+\}: )?(.*)$/.exec(row) ??
        [];
      return of === reason ? [text ?? ""] : [];
    });
    assert.ok(
      texts.some((text) => message.test(text)),
      `${type} ${reason} ${message} is not in:\n${table}`,
    );
  }
}
