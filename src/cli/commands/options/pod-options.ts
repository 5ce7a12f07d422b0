import type { Command } from "commander";
import type { Pod, PodList } from "../../../api/generated/types.ts";
import type { AgentClient } from "../../../client/agent-client.ts";
import {
  type PickedContainer,
  parsePodReference,
  pickContainer,
  pickPod,
} from "../../../client/pick-pod.ts";
import { withSocketOption } from "../../context.ts";
import type { Io } from "../../io.ts";

export interface PodOptions {
  readonly namespace: string;
  readonly socket?: string;
}

export interface ContainerOptions extends PodOptions {
  readonly container?: string;
}

/** Adds the options that every command on a pod has. */
export function withPodOptions(command: Command): Command {
  command.option("-n, --namespace <name>", "the pod's namespace", "default");
  return withSocketOption(command);
}

/** The pod that was named. */
export async function fetchPod(
  client: AgentClient,
  reference: string,
  { namespace }: PodOptions,
): Promise<Pod> {
  const named = parsePodReference(reference, namespace);
  const { items } = await client.json<PodList>("/nodelet/v1/pods");
  return pickPod(items, named);
}

/** The container that was named or is the default; where one of several was chosen, that is printed. */
export function chooseContainer(pod: Pod, options: ContainerOptions, io: Io): PickedContainer {
  const picked = pickContainer(pod, options.container);
  if (picked.others.length > 0) {
    io.stderr.write(
      `Defaulted container "${picked.name}" out of: ${[picked.name, ...picked.others].join(", ")}\n`,
    );
  }
  return picked;
}

/** The words of a path for a container of a pod, each escaped. */
export function containerUrlPath(pod: Pod, container: string): string {
  const { namespace = "", name = "" } = pod.metadata ?? {};
  return [namespace, name, container].map(encodeURIComponent).join("/");
}
