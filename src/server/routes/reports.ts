import type { Pod } from "../../api/generated/types.ts";
import { podFullName } from "../../api/pod/pod.ts";
import { encodeConfig } from "../../config/file/encode-config.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { ProbeReport } from "../../subsystems/probes/probes.ts";
import { type Call, replyJson } from "../call.ts";
import { HttpProblem } from "../http-problem.ts";
import type { PodView, ServedNode } from "../served-node.ts";

/** `/pods`: all pods of the agent as their sources have them, each with its present status. */
export async function replyPods(call: Call, { pipeline }: ServedNode): Promise<void> {
  const items = pipeline.pods
    .list()
    // Pods that were only found in the runtime have no spec.
    .filter(({ desired }) => desired.source !== "runtime")
    .map(({ uid, desired: { pod } }) => {
      const status = pipeline.statuses.get(uid)?.status;
      return status ? { ...pod, status } : pod;
    });
  await replyJson(call, podList(items));
}

/** `/runningpods/`: what runs, as the runtime has it: names and images only. */
export async function replyRunningPods(call: Call, { pipeline }: ServedNode): Promise<void> {
  const items = pipeline.pods.list().flatMap((record) => {
    const pod = runningPod(record);
    return pod ? [pod] : [];
  });
  await replyJson(call, podList(items));
}

function runningPod({ pod, uid, observed }: PodView): Pod | undefined {
  const running = observed.containers.filter(({ state }) => state === "running");
  if (running.length === 0) return undefined;
  const { name = "", namespace = "" } = pod.metadata ?? {};
  return {
    metadata: { name, namespace, uid },
    spec: {
      containers: running.map((container) => ({ name: container.name, image: container.image })),
    },
    status: {},
  };
}

/** A `v1.PodList`, ordered by name so that equal answers are identical. */
export function podList(items: readonly Pod[]): object {
  const sorted = items.toSorted((a, b) => (podFullName(a) < podFullName(b) ? -1 : 1));
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items: sorted };
}

/** `/configz`: the configuration in force. */
export async function replyConfig(call: Call, { config }: ServedNode): Promise<void> {
  // As it is, headers of manifests included: tools write it back, such as the node suite (server.go setConfigz).
  await replyJson(call, { kubeletconfig: encodeConfig(config) });
}

/** Longest form of a request for the summary. */
const MAX_FORM_BYTES = 4_096;
const FORM = "application/x-www-form-urlencoded";

/** `/stats/summary`; `only_cpu_and_memory=true`, also in the form of a POST, leaves the rest out. */
export async function replySummary(call: Call, { subsystems }: ServedNode): Promise<void> {
  const { exchange, query } = call;
  const isForm = exchange.method === "POST" && exchange.headers["content-type"]?.startsWith(FORM);
  const form = isForm === true ? await exchange.readBody(MAX_FORM_BYTES) : new Uint8Array();
  const values = new URLSearchParams(new TextDecoder().decode(form));
  const name = "only_cpu_and_memory";
  const onlyCpuAndMemory = (values.get(name) ?? query.get(name)) === "true";
  await replyJson(call, await subsystems.stats.summary({ onlyCpuAndMemory }));
}

/** A page of metrics that was made for this call. */
export async function replyPage(call: Call, page: string): Promise<void> {
  await call.exchange.reply(200, METRICS_HEADERS, page);
}

const METRICS_HEADERS = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };

/** A page of metrics. */
export async function replyMetrics(call: Call, metrics: MetricsRegistry): Promise<void> {
  await replyPage(call, metrics.expose());
}

/** `/probes`: every probe with its state, its cost and its last attempts; `pod=<namespace>/<name>` chooses. */
export async function replyProbes(call: Call, { subsystems }: ServedNode): Promise<void> {
  const pod = call.query.get("pod");
  if (pod !== null && !/^[^/]+\/[^/]+$/.test(pod))
    throw new HttpProblem(400, `pod=${pod}: write <namespace>/<name>`);
  const items = subsystems.probes
    .history()
    .filter(({ namespace, podName }) => pod === null || pod === `${namespace}/${podName}`)
    .map((probe) => ({ probe, key: keyOf(probe) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ probe }) => probe);
  await replyJson(call, { items });
}

function keyOf({ namespace, podName, podUid, container, kind }: ProbeReport): string {
  return `${namespace}/${podName}/${podUid}/${container}/${kind}`;
}
