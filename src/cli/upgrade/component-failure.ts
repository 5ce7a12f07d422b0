// pure
import type { Pod } from "../../api/generated/types.ts";

const COMPONENT = "component";
/** What a container waits for that has only just been made. */
const USUAL = ["ContainerCreating", "PodInitializing", "CrashLoopBackOff"];

/** What keeps a component of the control plane from running. */
interface ComponentFailure {
  /** Like `kube-apiserver`. */
  readonly component: string;
  readonly problem: string;
}

/** The failure of a static pod of the control plane since that time; undefined for other pods, and where there is none. */
export function componentFailure(
  { metadata, status }: Pod,
  sinceMs: number,
): ComponentFailure | undefined {
  const component = metadata?.labels?.[COMPONENT];
  const [container] = status?.containerStatuses ?? [];
  if (component === undefined || metadata?.labels?.["tier"] !== "control-plane") return undefined;
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
