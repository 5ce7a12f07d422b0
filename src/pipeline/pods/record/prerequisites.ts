// pure
import type { Pod } from "../../../api/generated/types.ts";
import { usesClaims } from "../../../api/pod-claims.ts";
import type { PodRecord, PrerequisiteState, Prerequisites } from "./record.ts";

type Prepared = Pick<PodRecord, "prerequisites">;

/** Everything that the pod needs, in one state; claims only where it has any. */
export function everyPrerequisite(pod: Pod, state: PrerequisiteState): Prerequisites {
  const claims = usesClaims(pod) ? { claims: state } : {};
  return { directories: state, cgroup: state, volumes: state, ...claims };
}

/** Whether nothing of that part is there, for certain. */
export function isAbsent({ prerequisites }: Prepared, part: keyof Prerequisites): boolean {
  return (prerequisites[part] ?? "absent") === "absent";
}

/** Whether no part is there. */
export function isNothingPrepared({ prerequisites }: Prepared): boolean {
  return Object.values(prerequisites).every((state) => state === "absent");
}
