// pure
/** Replies of the agent below `/nodelet/v1/` on its socket, see docs/server.md. */
import type { DecisionRecord } from "../api/decisions.ts";
import type { CoreEvent, Pod } from "../api/generated/types.ts";
import type { StateProblem } from "../kit/state/state-files.ts";
import type { ApiPodReply, ControlPlaneReport, Overview } from "../server/server.ts";
import type { CpuReport, ReportedCpu } from "../subsystems/cpus/cpus.ts";
import type { CsiReport } from "../subsystems/csi/csi.ts";
import type { DeviceReport } from "../subsystems/devices/devices.ts";
import type { ProbeReport } from "../subsystems/probes/probes.ts";
import type { ClaimReport } from "../subsystems/resource-claims/resource-claims.ts";

export type {
  ApiPodReply,
  ClaimReport,
  ControlPlaneReport,
  CpuReport,
  CsiReport,
  Overview,
  ProbeReport,
  ReportedCpu,
  StateProblem,
};

/** `devices`. */
export interface DevicesReply extends DeviceReport {
  /** Absent in answers of other versions. */
  readonly dynamicResources?: ClaimReport;
}

/** `decisions`. */
export interface DecisionList {
  readonly items: readonly DecisionRecord[];
  readonly lost: number;
}

/** `state-files`. */
export interface StateProblems {
  readonly items: readonly StateProblem[];
}

/** `problems`. */
export interface ProblemsReply {
  readonly items: readonly Problem[];
}

/** A manifest that cannot be used. */
export interface Problem {
  readonly origin: string;
  readonly message: string;
}

/** `probes`. */
export interface ProbesReply {
  readonly items: readonly ProbeReport[];
}

/** A line of `changes`. */
export type NodeChange =
  | { readonly kind: "overview"; readonly overview: Overview }
  | { readonly kind: "pod"; readonly pod: Pod }
  | {
      readonly kind: "podGone";
      readonly uid: string;
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly kind: "event"; readonly event: CoreEvent }
  | { readonly kind: "eventsMissed"; readonly count: number }
  | { readonly kind: "synced" }
  | { readonly kind: "alive" };
