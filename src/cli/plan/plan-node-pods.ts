// pure
import type { Pod } from "../../api/generated/types.ts";
import { type QosClass, qosClassOf } from "../../api/pod/qos.ts";
import { type IdentifiedPod, identifyPod } from "../../api/pod-identity.ts";
import { judge, type NodeInfo } from "../../pipeline/admission/rules.ts";
import type {
  CgroupSettings,
  PlannedGroup,
  RuntimeWeights,
} from "../../subsystems/cgroups/cgroups.ts";
import { planMachine } from "../../subsystems/cgroups/plan/plan-machine.ts";
import { CLAIMS_NOTE, type PlannedClaim, planClaimsOf } from "./plan-claims.ts";

/** The verdict of admission on one pod. */
export interface PlannedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly qosClass: QosClass;
  readonly admitted: boolean;
  /** Of the rule that refused it, in the words of the pod's status. */
  readonly rule?: string;
  readonly reason?: string;
  readonly message?: string;
  /** Absent where it has none. */
  readonly claims?: readonly PlannedClaim[];
}

/** Everything that would become of the pods on the node. */
export interface NodePlan {
  readonly node: string;
  readonly cgroupVersion: "v1" | "v2";
  readonly driver: string;
  readonly capacity: { readonly cpuMilli: number; readonly memoryBytes: number };
  /** Allocatable resources. */
  readonly allocatable: {
    readonly cpuMilli: number;
    readonly memoryBytes: number;
    readonly pods: number;
  };
  readonly pods: readonly PlannedPod[];
  readonly groups: readonly PlannedGroup[];
  /** Notes about the plan. */
  readonly notes: readonly string[];
}

interface NodePlanInputs {
  readonly node: string;
  readonly settings: CgroupSettings;
  readonly nodeInfo: NodeInfo;
  readonly pods: readonly Pod[];
  readonly weights: RuntimeWeights;
  readonly notes: readonly string[];
}

/** Admits the pods one after the other, in the order given, and plans the groups of those that were admitted. */
export function planNodePods(inputs: NodePlanInputs): NodePlan {
  const { node, settings, nodeInfo, pods, weights, notes } = inputs;
  const admitted: IdentifiedPod[] = [];
  const planned = pods.map(identifyPod).map((candidate): PlannedPod => {
    const refusal = judge({ candidate, others: admitted, nodeInfo });
    if (!refusal) admitted.push(candidate);
    const { namespace, name, uid } = candidate.metadata;
    const qosClass = qosClassOf(candidate);
    const claims = planClaimsOf(candidate);
    const named = claims.length === 0 ? {} : { claims };
    return { namespace, name, uid, qosClass, admitted: !refusal, ...(refusal ?? {}), ...named };
  });
  const hasClaims = planned.some(({ claims }) => claims !== undefined);
  return {
    node,
    cgroupVersion: settings.version === 2 ? "v2" : "v1",
    driver: settings.driver,
    capacity: {
      cpuMilli: settings.capacity.cpuMilli ?? 0,
      memoryBytes: settings.capacity.memoryBytes ?? 0,
    },
    allocatable: {
      cpuMilli: nodeInfo.allocatable.cpuMilli,
      memoryBytes: nodeInfo.allocatable.memoryBytes,
      pods: nodeInfo.pods,
    },
    pods: planned,
    groups: planMachine(settings, admitted, weights),
    notes: hasClaims ? [...notes, CLAIMS_NOTE] : notes,
  };
}
