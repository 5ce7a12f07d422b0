// pure
import type { NodeCondition, Taint } from "../../api/generated/types.ts";

/** The taint of each condition. */
const KEYS: Readonly<Record<string, string>> = {
  MemoryPressure: "node.kubernetes.io/memory-pressure",
  DiskPressure: "node.kubernetes.io/disk-pressure",
  PIDPressure: "node.kubernetes.io/pid-pressure",
};

/** The taints a node should have by its conditions, others untouched; `undefined` when it has them. */
export function taintsUnderPressure(
  taints: readonly Taint[],
  conditions: readonly NodeCondition[],
): readonly Taint[] | undefined {
  const requested = conditions
    .filter(({ status }) => status === "True")
    .flatMap(({ type }) => KEYS[type] ?? []);
  const isOwn = ({ key, effect }: Taint) =>
    effect === "NoSchedule" && Object.values(KEYS).includes(key);
  const present = taints.filter(isOwn).map(({ key }) => key);
  if (present.length === requested.length && requested.every((key) => present.includes(key)))
    return undefined;
  return [
    ...taints.filter((taint) => !isOwn(taint)),
    ...requested.map((key): Taint => ({ key, effect: "NoSchedule" })),
  ];
}
