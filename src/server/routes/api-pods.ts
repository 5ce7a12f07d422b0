/** Pods of the API that the agent has not, such as those that no node was found for yet. */
import type { Pod } from "../../api/generated/types.ts";
import { messageOf } from "../../kit/errors.ts";
import { isApiError, type KubeClient, PODS } from "../../outside/kube/kube.ts";
import { type Call, replyJson } from "../call.ts";

/** A pod as the API server has it; reply of `/nodelet/v1/api-pods/{namespace}/{name}` (docs/server.md). */
export type ApiPodReply =
  | { readonly kind: "found"; readonly pod: Pod }
  | { readonly kind: "notFound" }
  /** The node may not read the pod, or the API server cannot be reached. */
  | { readonly kind: "refused"; readonly message: string }
  /** The node has no API server. */
  | { readonly kind: "noApi" };

/** Asks the API server for one pod. */
export async function replyApiPod(
  call: Call,
  client: Pick<KubeClient, "get"> | undefined,
): Promise<void> {
  await replyJson(call, await readApiPod(call, client));
}

async function readApiPod(
  { params, signal }: Call,
  client: Pick<KubeClient, "get"> | undefined,
): Promise<ApiPodReply> {
  if (!client) return { kind: "noApi" };
  const { namespace = "", name = "" } = params;
  try {
    return { kind: "found", pod: await client.get(PODS, { namespace, name }, signal) };
  } catch (error) {
    if (isApiError(error, 404)) return { kind: "notFound" };
    return { kind: "refused", message: messageOf(error) };
  }
}
