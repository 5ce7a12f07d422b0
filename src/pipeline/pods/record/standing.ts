// pure
/**
 * Where each container of a pod stands. The record is read here once; transition, planners, status and probes take
 * it from here:
 *
 *     const { regular } = standingsOf(record);
 *     const isOver = regular.every(({ restart }) => restart?.restart === false);
 */

import type { Container } from "../../../api/generated/types.ts";
import type { Observation, ObservedContainer } from "../../../api/observation.ts";
import { type ContainerKind, initContainerKind, type RestartPolicy } from "../../../api/pod/pod.ts";
import type { PodRecord, ProbeVerdicts } from "./record.ts";
import {
  decideRestart,
  type EndedAttempt,
  hasFailed,
  type RestartDecision,
  restartPolicyOf,
  type SpecContainer,
} from "./restart.ts";

/** A container of the spec with what the record says of it. */
export interface ContainerStanding extends SpecContainer {
  readonly policy: RestartPolicy;
  /** What the runtime has of it, newest first, also from rounds that are over. */
  readonly attempts: readonly ObservedContainer[];
  /** The newest attempt whose round is not over. */
  readonly latest: ObservedContainer | undefined;
  /** The newest attempt in the pod's newest sandbox whose round is not over. */
  readonly here: ObservedContainer | undefined;
  /** How it last ended, if it has and nothing of it is there since. */
  readonly end: EndedAttempt | undefined;
  /** Whether it is to run again after `end`. */
  readonly restart: RestartDecision | undefined;
  /** Results of the probes of `latest`. */
  readonly verdicts: ProbeVerdicts | undefined;
  /** It runs, and its startup probe succeeded, or it has none. */
  readonly started: boolean;
  /** It may serve; an init container: it has done its work. */
  readonly ready: boolean;
}

/** The containers of a pod, each list in the order of the spec; ephemeral ones do not count for phase and readiness. */
export interface PodStandings {
  /** Init containers, sidecars among them. */
  readonly init: readonly ContainerStanding[];
  readonly regular: readonly ContainerStanding[];
  readonly ephemeral: readonly ContainerStanding[];
}

/** The standing of every container of the pod. */
export function standingsOf(record: PodRecord): PodStandings {
  const { spec } = record.pod;
  const standings = (
    containers: readonly Container[] = [],
    kindOf: (container: Container) => ContainerKind,
  ) =>
    containers.map((container, index) =>
      standingOf(record, { container, kind: kindOf(container), index }),
    );
  return {
    init: standings(spec?.initContainers, initContainerKind),
    regular: standings(spec?.containers, () => "regular"),
    ephemeral: standings(spec?.ephemeralContainers, () => "ephemeral"),
  };
}

function standingOf({ pod, observed, tracked }: PodRecord, spec: SpecContainer): ContainerStanding {
  const { container, kind, index } = spec;
  const { name, startupProbe, readinessProbe } = container;
  const { attempts, latest, here } = attemptsOf(name, observed);
  const end = latest ? endOf(latest) : lostEnd(tracked.lost[name]);
  const probed = tracked.probes[name];
  const verdicts = latest && probed?.containerId === latest.id ? probed : undefined;
  const started = latest?.state === "running" && (!startupProbe || verdicts?.startup === "success");
  return {
    container,
    kind,
    index,
    policy: restartPolicyOf(pod, spec),
    attempts,
    latest,
    here,
    end,
    restart: end && decideRestart(pod, spec, end),
    verdicts,
    started,
    ready:
      kind === "init"
        ? latest?.state === "exited" && !hasFailed(kind, latest)
        : started && (!readinessProbe || verdicts?.readiness === "success"),
  };
}

/** In one pass: this is done for each container in every turn of its pod. */
function attemptsOf(
  name: string,
  { containers, sandboxes: [sandbox] }: Observation,
): Pick<ContainerStanding, "attempts" | "latest" | "here"> {
  const attempts: ObservedContainer[] = [];
  let latest: ObservedContainer | undefined;
  let here: ObservedContainer | undefined;
  for (const attempt of containers) {
    if (attempt.name !== name) continue;
    attempts.push(attempt);
    if (attempt.outdated === true) continue;
    latest ??= attempt;
    if (attempt.sandboxId === sandbox?.id) here ??= attempt;
  }
  return { attempts, latest, here };
}

const endOf = (attempt: ObservedContainer): EndedAttempt | undefined =>
  attempt.state === "exited" ? attempt : undefined;

const lostEnd = (exitCode: number | undefined): EndedAttempt | undefined =>
  exitCode === undefined ? undefined : { exitCode };

/** Whether the container has an attempt, or had one that the runtime knows nothing of any more. */
export const wasMade = ({ attempts, end }: ContainerStanding): boolean =>
  attempts.length > 0 || end !== undefined;

/** Whether any regular container has an attempt in the present round. */
export const hasRegularAttempt = ({ regular }: PodStandings): boolean =>
  regular.some(({ latest }) => latest !== undefined);
