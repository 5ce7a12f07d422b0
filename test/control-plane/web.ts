/** A Deployment behind a Service, and pods that ask it by its name. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "../../src/api/generated/types.ts";
import { isReady } from "../../src/present/readiness.ts";
import { WEB_IMAGE } from "./images.ts";
import type { ClusterMachine } from "./machine.ts";

/** A machine whose cluster can be asked. */
type Asked = Pick<ClusterMachine, "kubectl">;

const ANSWER_MS = 180_000;
const SERVICE = "web.default.svc.cluster.local:80";
const SERVE = "mkdir /www; hostname >/www/index.html; exec httpd -f -p 80 -h /www";

/** Makes the Deployment and its Service. */
export async function serveWeb(machine: Asked, replicas: number): Promise<void> {
  const of = [`--image=${WEB_IMAGE}`, `--replicas=${replicas}`];
  await machine.kubectl("create", "deployment", "web", ...of, "--", "sh", "-c", SERVE);
  await machine.kubectl("expose", "deployment", "web", "--port=80");
}

/** The same with one replica on each node; a machine that is gone is given up after five seconds. */
export async function serveOnEachNode(machine: Asked, nodes: number): Promise<void> {
  await serveWeb(machine, 0);
  const spread = {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "DoNotSchedule",
    nodeTaintsPolicy: "Honor",
    labelSelector: { matchLabels: { app: "web" } },
  };
  const tolerations = ["unreachable", "not-ready"].map((state) => ({
    key: `node.kubernetes.io/${state}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 5,
  }));
  const spec = { topologySpreadConstraints: [spread], tolerations };
  const patch = { spec: { replicas: nodes, template: { spec } } };
  await machine.kubectl("patch", "deployment", "web", `-p=${JSON.stringify(patch)}`);
}

/** A pod of the Deployment. */
interface WebPod {
  readonly node: string;
  readonly address: string;
  readonly ready: boolean;
}

/** Its pods, but for those that are being deleted. */
export async function webPods(machine: Asked): Promise<readonly WebPod[]> {
  const text = await machine.kubectl("get", "pods", "-lapp=web", "-ojson");
  const { items } = JSON.parse(text) as { readonly items: readonly Pod[] };
  return items
    .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
    .map((pod) => ({
      node: pod.spec?.nodeName ?? "",
      address: pod.status?.podIP ?? "",
      ready: isReady(pod),
    }));
}

/** Makes a pod that can ask; on the node where one is named. */
export async function startClient(machine: Asked, name: string, node?: string): Promise<void> {
  const where =
    node === undefined ? [] : [`--overrides=${JSON.stringify({ spec: { nodeName: node } })}`];
  const argv = [
    "run",
    name,
    `--image=${WEB_IMAGE}`,
    ...where,
    "--command",
    "--",
    "sleep",
    "100000",
  ];
  await machine.kubectl(...argv);
}

/** Waits until a pod reaches the Service by its DNS name, or another address. */
export async function answered(machine: Asked, client: string, address = SERVICE): Promise<void> {
  const deadline = performance.now() + ANSWER_MS;
  const ask = ["exec", client, "--", "/agnhost", "connect", address, "--timeout=5s"];
  for (;;) {
    const answer = await machine.kubectl(...ask).catch((error: Error) => error.message);
    if (answer === "") return;
    if (performance.now() > deadline) throw new Error(answer);
    await sleep(500);
  }
}
