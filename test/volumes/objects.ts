/** Objects of the API that volumes and environments are made of. */
import type { CoreEvent, PodSpec } from "../../src/api/generated/types.ts";
import { type ClusterNode, PODS, podOf } from "../kube/cluster-node.ts";

/** The namespace of all of them. */
export const DEFAULT = "/api/v1/namespaces/default";
export const base64 = (text: string) => Buffer.from(text).toString("base64");

export const configMap = (name: string, data: Readonly<Record<string, string>>) => ({
  metadata: { name },
  data,
});
export const secret = (name: string, data: Readonly<Record<string, string>>) => ({
  metadata: { name },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)])),
});

export async function started(node: ClusterNode, spec: Partial<PodSpec>): Promise<void> {
  await node.server.must("POST", PODS, podOf("pod", spec));
  await node.untilReady("pod");
}

export async function eventTexts(node: ClusterNode): Promise<readonly string[]> {
  const list = await node.get<{ items: readonly CoreEvent[] }>(`${DEFAULT}/events`);
  return (list?.items ?? []).map(({ reason, message }) => `${reason}: ${message}`);
}
