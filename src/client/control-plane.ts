/** What is known of the control plane on the node. */
import type { Pod, PodList } from "../api/generated/types.ts";
import { controlPlaneComponent } from "../api/pod/pod.ts";
import { CliError } from "../present/cli-error.ts";
import {
  controlPlaneVerdicts,
  type PartVerdict,
  verdictsOf,
} from "../present/control-plane/judge-control-plane.ts";
import { EXIT_NOT_FOUND } from "../present/exit-codes.ts";
import type { ControlPlaneReport } from "../present/shapes.ts";
import type { AgentClient } from "./agent-client.ts";

/** Verdicts on its parts; none on a node without one. */
export async function requestControlPlane(client: AgentClient): Promise<readonly PartVerdict[]> {
  const report = await client
    .json<ControlPlaneReport>("/nodelet/v1/control-plane")
    .catch(noneOfEarlier);
  if (report === undefined || report.components.length === 0) return [];
  const { items } = await client.json<PodList>("/nodelet/v1/pods");
  return controlPlaneVerdicts(report, items);
}

/** Those on the component that a pod is; none for other pods. */
export async function requestVerdictsOf(
  client: AgentClient,
  pod: Pod,
): Promise<readonly PartVerdict[]> {
  const component = controlPlaneComponent(pod);
  return component === undefined ? [] : verdictsOf(component, await requestControlPlane(client));
}

/** An agent of an earlier version, which runs on while the command is new, has no such route. */
function noneOfEarlier(thrown: unknown): undefined {
  if (thrown instanceof CliError && thrown.exitCode === EXIT_NOT_FOUND) return undefined;
  throw thrown;
}
