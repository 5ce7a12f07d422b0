/** Keeps the routes to the pods of the cluster's other nodes, by a watch of the nodes. */
import { existsSync, watch } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Node } from "../../api/generated/types.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { messageOf } from "../../kit/errors.ts";
import { type Log, silentLog } from "../../kit/log.ts";
import * as kube from "../../outside/kube/kube.ts";
import { connectApi } from "../api-access.ts";
import { KUBEADM_FILES, nodeNameIn } from "../control-plane/places.ts";
import { fileText } from "../control-plane/waiting/await-kubelet-files.ts";
import { applyRoutes } from "./apply-routes.ts";
import { planRoutes } from "./plan-routes.ts";

const BACKOFF = { initialMs: 1_000, maxMs: 60_000 };

/** Keeps them until `leave` is aborted. The routes stay: the next one goes on with them. */
export async function keepPodRoutes(
  print: (text: string) => void,
  leave: AbortSignal,
): Promise<void> {
  const report = withoutRepetition(print);
  for (let failures = 0; !leave.aborted; ) {
    const changed = new AbortController();
    try {
      await credentialsThere(changed, leave);
      await follow(report, AbortSignal.any([leave, changed.signal]));
    } catch (error) {
      if (leave.aborted) return;
      failures = changed.signal.aborted ? 0 : failures + 1;
      if (failures === 0) continue;
      report("", `routes to the pods of other nodes: ${messageOf(error)}`);
      const pauseMs = retryDelayMs(failures, BACKOFF);
      await sleep(pauseMs, undefined, { signal: leave }).catch(() => {});
    } finally {
      // The watch of the file ends with it.
      changed.abort();
    }
  }
}

/** Resolves as soon as there is the node's kubeconfig; `changed` is aborted when it changes after that. */
async function credentialsThere(changed: AbortController, leave: AbortSignal): Promise<void> {
  const { kubeconfig } = KUBEADM_FILES;
  await new Promise<void>((resolve) => {
    const watcher = watch(dirname(kubeconfig), (_, name) => {
      if (name !== basename(kubeconfig) || !existsSync(kubeconfig)) return;
      changed.abort();
      resolve();
    });
    changed.signal.addEventListener("abort", () => watcher.close(), { once: true });
    leave.addEventListener("abort", () => changed.abort(), { once: true, signal: changed.signal });
    changed.signal.addEventListener("abort", () => resolve(), { once: true });
    if (existsSync(kubeconfig)) resolve();
  });
}

/** Reports a text about a node, or about all of them, unless it was the last one about the same. */
type Report = (node: string, text: string) => void;

async function follow(report: Report, signal: AbortSignal): Promise<void> {
  const api = await connectApi(KUBEADM_FILES.kubeconfig, "kubeadm writes it");
  const nodes = new Map<string, Node>();
  const ownName = nodeNameIn(fileText(KUBEADM_FILES.kubeletFlags), hostname());
  let isKnown = false;
  let applied = "";
  const log: Log = {
    ...silentLog,
    warn: (_, { error } = {}) => report("", `nodes cannot be watched: ${messageOf(error)}`),
  };
  const deps = { client: api.client, clock: api.clock, random: api.random, log };
  const fresh = api.keepFresh(signal).catch(() => {});
  try {
    for await (const change of kube.followObjects({ resource: kube.NODES }, deps, signal)) {
      if (change.kind === "all") {
        nodes.clear();
        for (const node of change.objects) nodes.set(node.metadata?.name ?? "", node);
        isKnown = true;
      } else if (change.kind === "set")
        nodes.set(change.object.metadata?.name ?? "", change.object);
      else nodes.delete(change.object.metadata?.name ?? "");
      if (!isKnown) continue;
      const wanted = planRoutes(nodes.values(), ownName);
      const plan = JSON.stringify(wanted);
      // Most changes of a node are heartbeats.
      if (plan === applied) continue;
      const failed = await applyRoutes(wanted);
      applied = failed.size === 0 ? plan : "";
      for (const [node, why] of failed)
        report(
          node,
          `no route to the pods of ${node}: ${why}; nodes of several networks need a network plugin`,
        );
    }
  } finally {
    api.close();
    await fresh;
  }
}

function withoutRepetition(print: (text: string) => void): Report {
  const last = new Map<string, string>();
  return (node, text) => {
    if (text !== last.get(node)) print(text);
    last.set(node, text);
  };
}
