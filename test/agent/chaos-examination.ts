/** What is wrong with a node after the chaos: pods in another state than their specs ask for, and what nobody owns. */
import { readFileSync } from "node:fs";
import type { Pod } from "../../src/api/generated/types.ts";
import { isHostNetworkPod, isTerminalPhase } from "../../src/api/pod/pod.ts";
import { ContainerState, PodSandboxState } from "../../src/outside/cri/generated/api.ts";
import { faultOf, NOTES } from "./chaos-kinds.ts";
import type { Monkey } from "./chaos-monkey.ts";
import { type ChaosNode, localUid } from "./chaos-node.ts";

const POD_UID = "io.kubernetes.pod.uid";
const CONTAINER = "io.kubernetes.container.name";
const FOLDERS = "/var/lib/kubelet/pods";
const ADDRESSES = "/var/lib/cni/networks/box";

/** Every fault that there is now, one a line. */
export async function faultsOf(node: ChaosNode, monkey: Monkey): Promise<readonly string[]> {
  const pods = await node.pods();
  return [
    ...stateFaults(pods, monkey),
    ...(await runtimeFaults(node, pods, runtimeDeaths(monkey))),
  ];
}

/** How often the runtime was killed: each time it may forget one namespace that it had just made, which no client sees. */
export function runtimeDeaths({ strokes }: Monkey): number {
  return (strokes.get("containerd") ?? 0) + (strokes.get("agent and containerd") ?? 0);
}

/** Pods that are missing, too many, or not as their specs ask for. */
function stateFaults(pods: readonly Pod[], monkey: Monkey): string[] {
  const byName = new Map(pods.map((pod) => [nameOf(pod), pod]));
  const faults = pods
    .filter((pod) => !monkey.desired.has(nameOf(pod)))
    .map((pod) => `${nameOf(pod)}: no source has it`);
  const runtimeDied = [...monkey.strokes.keys()].some((stroke) => stroke.includes("containerd"));
  for (const { name, kind } of monkey.desired.values()) {
    const pod = byName.get(name);
    const story = { hit: pod !== undefined && monkey.hit.has(localUid(pod)), runtimeDied };
    const fault = pod ? faultOf(kind, pod, story) : "is not there";
    if (fault !== undefined) faults.push(`${name} (${pod && localUid(pod)}): ${fault}`);
  }
  return faults;
}

/** The name without the node's behind it. */
function nameOf({ metadata }: Pod): string {
  return (metadata?.name ?? "").replace(/-node-1$/, "");
}

/** What runtime and kernel have against what the API says. */
async function runtimeFaults(
  node: ChaosNode,
  pods: readonly Pod[],
  deaths: number,
): Promise<string[]> {
  const { sandboxes, containers, statuses } = await node.runtimeObjects();
  const known = new Map(pods.map((pod) => [localUid(pod), pod]));
  const alive = new Map([...known].filter(([, pod]) => !isTerminalPhase(pod.status?.phase)));
  const ready = sandboxes.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
  const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  const uidOf = (object: { readonly labels: Readonly<Record<string, string>> }) =>
    object.labels[POD_UID] ?? "";
  const claimed = new Set(
    [...known.values()]
      .flatMap(({ status }) => [
        ...(status?.containerStatuses ?? []),
        ...(status?.initContainerStatuses ?? []),
      ])
      .filter(({ state }) => state?.running)
      .map(({ containerID }) => containerID?.replace("containerd://", "")),
  );
  const inPodNetwork = ready.filter(({ labels }) => {
    const pod = known.get(labels[POD_UID] ?? "");
    return pod !== undefined && !isHostNetworkPod(pod);
  });
  const readyIds = new Set(inPodNetwork.map(({ id }) => id));
  const ips = statuses.filter(({ id }) => readyIds.has(id)).map(({ network }) => network?.ip ?? "");
  return [
    ...sandboxes
      .filter((each) => !known.has(uidOf(each)))
      .map(({ id }) => `sandbox ${id} of nobody`),
    ...ready
      .filter((each) => !alive.has(uidOf(each)))
      .map(({ id }) => `sandbox ${id} of an ended pod`),
    ...doubled(ready.map(uidOf)).map((uid) => `several sandboxes of ${uid}`),
    ...containers
      .filter((each) => !known.has(uidOf(each)))
      .map(({ id }) => `container ${id} of nobody`),
    ...doubled(running.map((each) => `${uidOf(each)}/${each.labels[CONTAINER]}`)).map(
      (name) => `runs several times: ${name}`,
    ),
    ...unequal(
      "running containers",
      running.map(({ id }) => id),
      [...claimed],
    ),
    ...processFaults(node, new Set([...ready, ...running].map(({ id }) => id))),
    ...(await nodeFaults(node, { alive, known, ips, netns: inPodNetwork.length, deaths })),
  ];
}

function processFaults(node: ChaosNode, ids: ReadonlySet<string>): string[] {
  return node
    .processes()
    .filter(({ id }) => !ids.has(id))
    .map(({ pid, id }) => `process ${pid} of ${id}, which does not run: ${commandOf(pid)}`);
}

interface NodeFacts {
  readonly alive: ReadonlyMap<string, Pod>;
  readonly known: ReadonlyMap<string, Pod>;
  readonly ips: readonly (string | undefined)[];
  readonly netns: number;
  readonly deaths: number;
}

async function nodeFaults(node: ChaosNode, facts: NodeFacts): Promise<string[]> {
  const { alive, known, ips, netns, deaths } = facts;
  const lines = async (script: string) =>
    (await node.box.run(["sh", "-c", `${script} || true`])).split("\n").filter((line) => line);
  const groups = await lines("find /sys/fs/cgroup -type d -name 'pod*' -printf '%f\\n' | sort -u");
  const folders = await lines(`ls ${FOLDERS} 2>/dev/null`);
  const mounts = await lines(
    `grep -o '${FOLDERS}/[^/ ]*' /proc/self/mounts | sort -u | sed 's#.*/##'`,
  );
  const addresses = await lines(`ls ${ADDRESSES} 2>/dev/null | grep -E '^[0-9.]+$'`);
  const spaces = await lines("ls /run/netns");
  return [
    ...unequal(
      "cgroups",
      groups,
      [...alive.keys()].map((uid) => `pod${uid}`),
    ),
    ...folders.filter((uid) => !known.has(uid)).map((uid) => `folder of pod ${uid}`),
    ...mounts.filter((uid) => !alive.has(uid)).map((uid) => `mounts of pod ${uid}`),
    ...unequal("addresses", addresses, ips),
    ...(spaces.length >= netns && spaces.length <= netns + deaths
      ? []
      : [`${spaces.length} network namespaces, not ${netns}`]),
  ];
}

/** Containers that must not start twice and did. A pod that came back has a life again, if its absence was seen. */
export async function startedTwice(node: ChaosNode, monkey: Monkey): Promise<readonly string[]> {
  const notes = await node.box.run(["cat", `${NOTES}/starts`]);
  const pods = await node.pods();
  const once = new Set(
    pods
      .filter((pod) => {
        const name = nameOf(pod);
        const kind = monkey.desired.get(name)?.kind;
        const mayRunAgain = kind?.source === "static" && monkey.returned.has(name);
        return kind?.spec.restartPolicy === "Never" && !mayRunAgain;
      })
      .map(localUid),
  );
  return doubled(notes.split("\n").filter((line) => once.has(line.split(" ")[0] ?? "")));
}

function doubled(items: readonly string[]): string[] {
  return [...new Set(items.filter((item, at) => items.indexOf(item) !== at))];
}

function unequal(
  what: string,
  found: readonly (string | undefined)[],
  expected: readonly (string | undefined)[],
): string[] {
  const [has, needed] = [new Set(found), new Set(expected)];
  return [
    ...found.filter((each) => !needed.has(each)).map((each) => `${what}: ${each} is too many`),
    ...expected.filter((each) => !has.has(each)).map((each) => `${what}: ${each} is missing`),
  ];
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").slice(0, 200);
  } catch {
    return "gone";
  }
}
