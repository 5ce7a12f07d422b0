// The same pods under the Go kubelet and nodelet in turn: who takes over restarts nothing where the hashes allow it.
// NODELET_ADOPTION_PODS says how many; 50 take two and a half minutes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../src/api/generated/types.ts";
import type { Box } from "../box/box.ts";
import { withBox } from "../box/box.ts";
import { testImage } from "../box/images.ts";
import { apiServerObstacle, startApiServer } from "../kube/apiserver.ts";
import { ClusterNode, conditionOf, NODE, PODS } from "../kube/cluster-node.ts";
import { BoxedAgent, podTraces } from "../support/agent.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { faultOf, kindNamed, NOTES, OBJECTS, type PodKind, podOfKind } from "./chaos-kinds.ts";
import { GoKubelet, goKubeletObstacle } from "./go-kubelet.ts";

const skip = apiServerObstacle() ?? goKubeletObstacle() ?? false;
const COUNT = Number(process.env["NODELET_ADOPTION_PODS"] ?? 20);
/** Made by nodelet before the Go kubelet takes over. */
const OWN = 10;
const LIMIT_MS = 180_000 * TIMEOUT_FACTOR;
/** As long as this after a change of hands everything must stay as it was. */
const WATCHED_MS = 10_000;
/** A Go kubelet of that age needs ten seconds before it syncs the first pod. */
const GO_WATCHED_MS = 40_000;
/** The release from which on only name and image of a container are hashed. */
const SHORT_HASH_MINOR = 31;

/** Those that a Kubernetes of 1.20 knows and that come to rest. */
const KINDS: readonly PodKind[] = [
  "web",
  "onfailure",
  "never",
  "job",
  "retry",
  "fails",
  "hooks",
  "slow",
  "hostnet",
  "shared",
  "memory",
  "stubborn",
  "objects",
].map(kindNamed);

/** An image of two names, which its pod calls by a short form of one: the runtime shows any of the full ones. */
const SHORT_NAMED = {
  names: ["docker.io/library/adopted:1", "docker.io/library/adopted:2"],
  wanted: ["adopted:1", "adopted:2"],
} as const;

const UNDISTURBED = { hit: false, runtimeDied: false };

/** What a change of hands must leave alone. */
interface Essence {
  readonly phase: string | undefined;
  readonly ready: string | undefined;
  readonly podIP: string | undefined;
  readonly containers: readonly string[];
}

function essenceOf({ status }: Pod): Essence {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return {
    phase: status?.phase,
    ready: status?.conditions?.find(({ type }) => type === "Ready")?.status,
    podIP: status?.podIP,
    containers: all.map(
      ({ name, restartCount, containerID, ready }) =>
        `${name} ${restartCount} ${containerID} ${ready}`,
    ),
  };
}

/** Which attempts there are; a Go kubelet that starts forgets which of them are ready, and the addresses of pods that ended. */
function attemptsOf({ status }: Pod): Essence {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const containers = all.map(
    ({ name, restartCount, containerID }) => `${name} ${restartCount} ${containerID}`,
  );
  const podIP = status?.phase === "Running" ? status.podIP : undefined;
  return { phase: status?.phase, ready: undefined, podIP, containers };
}

type ReadEssence = (pod: Pod) => Essence;

/** One node and the two who take turns on it. */
class Turns {
  readonly node: ClusterNode;
  readonly go: GoKubelet;
  readonly box: Box;

  constructor(box: Box, node: ClusterNode, go: GoKubelet) {
    this.box = box;
    this.node = node;
    this.go = go;
  }

  async pods(): Promise<ReadonlyMap<string, Pod>> {
    const list = await this.node.get<{ items: readonly Pod[] }>(PODS);
    return new Map((list?.items ?? []).map((pod) => [pod.metadata?.name ?? "", pod]));
  }

  async create(from: number, count: number): Promise<void> {
    for (let n = from; n < from + count; n += 1) {
      const kind = KINDS[n % KINDS.length] as PodKind;
      const pod = podOfKind(kind, `${kind.name}-${n}`);
      const spec = { ...kind.spec, nodeName: NODE };
      await this.node.server.must("POST", PODS, { ...pod, spec });
    }
  }

  /** Pods whose image the runtime calls otherwise than they do; numbered like the first ones. */
  async createShortNamed(): Promise<void> {
    for (const [n, image] of SHORT_NAMED.wanted.entries()) {
      const pod = podOfKind(kindNamed("onfailure"), `onfailure-0${n}`);
      const containers = (pod.spec?.containers ?? []).map((each) => ({ ...each, image }));
      await this.node.server.must("POST", PODS, {
        ...pod,
        spec: { ...pod.spec, containers, nodeName: NODE },
      });
    }
  }

  /** Waits until so many pods are where their specs bind them. */
  async settle(count: number): Promise<void> {
    await this.node.agent.until(
      `${count} pods have come to rest`,
      async () => {
        const pods = [...(await this.pods()).values()];
        return (
          pods.length === count &&
          pods.every((pod) => {
            const kind = kindNamed((pod.metadata?.name ?? "").split("-")[0] ?? "");
            return faultOf(kind, pod, UNDISTURBED) === undefined;
          })
        );
      },
      LIMIT_MS,
    );
  }

  /** Process ids of all containers and sandboxes. */
  async tasks(): Promise<readonly string[]> {
    const text = await this.box.ctr("tasks", "list");
    return text
      .split("\n")
      .filter((line) => line.includes("RUNNING"))
      .map((line) => line.trim().split(/\s+/).slice(0, 2).join(" "))
      .sort();
  }

  async essences(readEssence: ReadEssence): Promise<ReadonlyMap<string, Essence>> {
    return new Map([...(await this.pods())].map(([name, pod]) => [name, readEssence(pod)]));
  }

  /** Reads all pods repeatedly; gives every pod that was seen otherwise than `before`. */
  async changed(
    before: ReadonlyMap<string, Essence>,
    readEssence: ReadEssence,
    watchedMs: number,
  ): Promise<ReadonlyMap<string, string>> {
    const changes = new Map<string, string>();
    const deadline = performance.now() + watchedMs;
    while (performance.now() < deadline) {
      for (const [name, essence] of await this.essences(readEssence)) {
        const [was, is] = [JSON.stringify(before.get(name)), JSON.stringify(essence)];
        if (was !== is) changes.set(name, `${was} -> ${is}`);
      }
      await sleep(250);
    }
    return changes;
  }
}

async function withTurns(use: (turns: Turns) => Promise<void>): Promise<void> {
  const images = [testImage({ names: SHORT_NAMED.names })];
  await withBox({ storeMib: 2048, images }, async (box) => {
    await using server = await startApiServer({ box });
    await box.run(["mkdir", "-p", NOTES]);
    const kubeconfig = await server.nodeKubeconfig(NODE);
    const agent = await BoxedAgent.start(box, {
      clientCaFile: server.caFile,
      flags: [`--hostname-override=${NODE}`, `--kubeconfig=${kubeconfig}`],
    });
    const node = new ClusterNode(agent, server);
    await node.untilNodeReady();
    await agent.stop();
    for (const [what, object] of Object.entries(OBJECTS))
      await server.must("POST", `/api/v1/namespaces/default/${what}`, object);
    const go = new GoKubelet(box, { kubeconfig, clientCaFile: server.caFile });
    await use(new Turns(box, node, go));
  });
}

test(`${COUNT} pods pass from the Go kubelet to nodelet and back`, { skip }, () =>
  withTurns(async (turns) => {
    const { node, go, box } = turns;
    const traces = await podTraces(box);
    go.start();
    await turns.create(0, COUNT - SHORT_NAMED.wanted.length);
    await turns.createShortNamed();
    await turns.settle(COUNT);
    const before = await turns.essences(essenceOf);
    const tasks = await turns.tasks();
    await go.stop();

    await node.agent.start();
    const flipped = await turns.changed(before, essenceOf, WATCHED_MS);
    assert.deepEqual([...flipped], [], "nodelet took over");
    assert.deepEqual(await turns.tasks(), tasks, "no process was replaced");
    await changeObjects(turns);
    assert.match(await node.server.kubectl(["exec", "onfailure-1", "--", "hostname"]), /onfailure/);

    await turns.create(COUNT, OWN);
    await turns.settle(COUNT + OWN);
    const all = await turns.essences(attemptsOf);
    const pods = await turns.pods();
    await node.agent.stop();
    go.start();
    const changes = await turns.changed(all, attemptsOf, GO_WATCHED_MS);
    const own = [...changes.keys()].filter((name) => Number(name.split("-")[1]) >= COUNT);
    const running = [...pods].filter(
      ([name, pod]) => conditionOf(pod, "Ready") === "True" && Number(name.split("-")[1]) >= COUNT,
    );
    console.log(
      `${go.version} takes over: ${changes.size - own.length} of ${COUNT} pods of its own changed, ` +
        `${own.length} of ${running.length} running pods made by nodelet`,
    );
    assert.deepEqual(
      [...changes].filter(([name]) => !own.includes(name)),
      [],
      "containers that the Go kubelet made run on",
    );
    const expected = go.minor >= SHORT_HASH_MINOR ? 0 : running.length;
    assert.equal(own.length, expected, own.map((name) => changes.get(name)).join("\n"));
    await turns.settle(COUNT + OWN);
    await go.stop();

    await node.agent.start();
    await node.server.must("DELETE", PODS);
    await node.agent.until(
      "nothing is left",
      async () => JSON.stringify(await podTraces(box)) === JSON.stringify(traces),
      LIMIT_MS,
    );
    assert.equal((await turns.pods()).size, 0);
  }),
);

/** A volume that the Go kubelet made is kept up by nodelet. */
async function changeObjects({ node }: Turns): Promise<void> {
  const path = "/api/v1/namespaces/default/configmaps/settings";
  const map = await node.get<object>(path);
  await node.server.must("PUT", path, { ...map, data: { colour: "green" } });
  const name = `objects-${KINDS.findIndex((kind) => kind.name === "objects")}`;
  await node.agent.until("the volume has the new text", async () => {
    const read = ["exec", name, "-c", "main", "--", "cat", "/etc/settings/colour"];
    return (await node.server.kubectl(read)) === "green";
  });
}
