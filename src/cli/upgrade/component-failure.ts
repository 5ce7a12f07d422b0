// pure
import type { Pod } from "../../api/generated/types.ts";
import { controlPlaneComponent } from "../../api/pod/pod.ts";

/** What a container waits for that has only just been made. */
const USUAL = ["ContainerCreating", "PodInitializing", "CrashLoopBackOff"];

/** What keeps a component of the control plane from running. */
interface ComponentFailure {
  /** Like `kube-apiserver`. */
  readonly component: string;
  readonly problem: string;
}

/** The failure of a static pod of the control plane since that time; undefined for other pods, and where there is none. */
export function componentFailure(pod: Pod, sinceMs: number): ComponentFailure | undefined {
  const component = controlPlaneComponent(pod);
  if (component === undefined) return undefined;
  const [container] = pod.status?.containerStatuses ?? [];
  const { waiting } = container?.state ?? {};
  if (waiting?.reason !== undefined && !USUAL.includes(waiting.reason)) {
    const why = waiting.message === undefined ? "" : `: ${waiting.message}`;
    return { component, problem: `${waiting.reason}${why}` };
  }
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  // Times have whole seconds.
  const at = Date.parse(ended?.finishedAt ?? "") + 1_000;
  // One that ends without an error is being replaced.
  if (ended === undefined || ended.exitCode === 0 || !(at > sinceMs)) return undefined;
  return { component, problem: `it ended with code ${ended.exitCode}` };
}
