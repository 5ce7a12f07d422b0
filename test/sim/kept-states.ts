/**
 * State files of earlier versions, as an agent of that version left them in the simulation, with what they belong to: kept in
 * `test/testdata/states`. The state of this version is written by
 *   node test/sim/kept-states.ts test/testdata/states/<version>.json
 */
import { readFileSync, writeFileSync } from "node:fs";
import { commandOf, type Program } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

/** State of an agent that had played `playPods`. */
export interface KeptState {
  /** Texts of all files below the root folder, by their paths. */
  readonly files: Readonly<Record<string, string>>;
  /** Containers that the runtime had then, as `uid name attempt`, with their ids. */
  readonly containers: Readonly<Record<string, string>>;
  readonly pods: readonly KeptPod[];
}

/** What a new agent has to say of a pod, too. */
export interface KeptPod {
  readonly uid: string;
  readonly name: string;
  readonly phase: string;
  /** Conditions as `type status lastTransitionTime`. */
  readonly conditions: readonly string[];
  /** Restart counts, as `container count`. */
  readonly restarts: readonly string[];
}

const ROOT = "/var/lib/kubelet/";
const SEED = 7;
const MAX_BYTES = 64 * 1024 * 1024;
const SETTLED_MS = 60_000;

const probe = (program: Program, periodSeconds: number) => ({
  exec: { command: commandOf(program) },
  periodSeconds,
});
const WELL: Program = { kind: "exit", code: 0, afterMs: 0 };

const container = (name: string, program: Program, more: object = {}) => ({
  name,
  image: "nodelet.test/nodelet-test:1",
  command: commandOf(program),
  ...more,
});

/** A pod of each kind that has something of its own in the state. */
const PODS: Readonly<Record<string, object>> = {
  probed: {
    containers: [
      container(
        "main",
        { kind: "polite" },
        { readinessProbe: probe(WELL, 7), livenessProbe: probe(WELL, 11) },
      ),
    ],
  },
  restarted: { containers: [container("main", { kind: "sleep" })] },
  completed: {
    restartPolicy: "Never",
    containers: [container("main", { kind: "exit", code: 0, afterMs: 5_000 })],
  },
  initialized: {
    initContainers: [
      container("prepare", { kind: "exit", code: 0, afterMs: 1_000 }),
      container("sidecar", { kind: "polite" }, { restartPolicy: "Always" }),
    ],
    containers: [container("main", { kind: "polite" })],
  },
  limited: {
    containers: [
      container(
        "main",
        { kind: "polite" },
        { resources: { requests: { cpu: "50m", memory: "32Mi" }, limits: { memory: "64Mi" } } },
      ),
    ],
  },
};

/** A world in which an agent has started the pods, and one container has been restarted. */
export async function playPods(): Promise<World> {
  const world = new World(SEED);
  const { files } = world.host;
  await files.makeDirectory(MANIFESTS, 0o755);
  for (const [name, spec] of Object.entries(PODS)) {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
    await files.writeAtomic(`${MANIFESTS}/${name}.json`, JSON.stringify(pod), 0o644);
  }
  world.startAgent();
  await world.advance(SETTLED_MS);
  const uid = podsOf(world).find(({ name }) => name.startsWith("restarted"))?.uid;
  for (const { id, sandboxId } of world.runtime.containers.values())
    if (world.runtime.sandboxes.get(sandboxId)?.config.metadata?.uid === uid)
      world.runtime.exitContainer(id, 1);
  await world.advance(SETTLED_MS);
  return world;
}

/** What the agent of a world says of its pods. */
export function podsOf(world: World): readonly KeptPod[] {
  const statuses = world.agent?.pipeline.statuses;
  const names = new Map(
    world.agent?.pipeline.pods.list().map(({ uid, pod }) => [uid, pod.metadata?.name ?? ""]),
  );
  return [...(statuses?.list() ?? [])]
    .map(({ uid, status }) => ({
      uid: String(uid),
      name: names.get(uid) ?? "",
      phase: status.phase ?? "",
      conditions: (status.conditions ?? [])
        .map(({ type, status: value, lastTransitionTime }) =>
          [type, value, lastTransitionTime].join(" "),
        )
        .toSorted(),
      restarts: [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
        ({ name, restartCount }) => `${name} ${restartCount}`,
      ),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** All containers that the runtime of a world has, as in `KeptState`. */
export function containersOf(world: World): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...world.runtime.containers.values()].map(({ id, sandboxId, config }) => {
      const uid = world.runtime.sandboxes.get(sandboxId)?.config.metadata?.uid;
      return [`${uid} ${config.metadata?.name} ${config.metadata?.attempt ?? 0}`, id];
    }),
  );
}

/** The state files of a world. */
export async function stateOf(world: World): Promise<Readonly<Record<string, string>>> {
  const { files } = world.host;
  const found: Record<string, string> = {};
  for (const path of files.paths) {
    if (!isState(path) || (await files.facts(path))?.kind !== "file") continue;
    found[path] = (await files.readText(path, { maxBytes: MAX_BYTES })) ?? "";
  }
  return found;
}

/** Replaces the state files of a world by those of another one, whose containers had other ids. */
export async function replaceState(world: World, { files, containers }: KeptState): Promise<void> {
  for (const path of Object.keys(await stateOf(world))) await world.host.files.remove(path);
  const ids = new Map(
    Object.entries(containersOf(world)).map(([key, id]) => [containers[key] ?? key, id]),
  );
  for (const [path, text] of Object.entries(files)) {
    const translated = text.replaceAll(/\bcontainer-\d+\b/g, (id) => ids.get(id) ?? id);
    await world.host.files.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0o700);
    await world.host.files.writeAtomic(path, translated, 0o600);
  }
}

/** Reads a file of `test/testdata/states`. */
export function readKept(path: string): KeptState {
  return JSON.parse(readFileSync(path, "utf8")) as KeptState;
}

/** Of the agent itself: neither what pods have in their volumes nor the reserve for a full disk. */
function isState(path: string): boolean {
  return (
    path.startsWith(ROOT) && !/\/(pods\/[^/]+\/|plugins|reserve$)/.test(path.slice(ROOT.length - 1))
  );
}

if (import.meta.main) {
  const [path = ""] = process.argv.slice(2);
  const world = await playPods();
  const pods = podsOf(world);
  const containers = containersOf(world);
  await world.stopAgent();
  const kept: KeptState = { files: await stateOf(world), containers, pods };
  writeFileSync(path, `${JSON.stringify(kept, null, 1)}\n`);
}
