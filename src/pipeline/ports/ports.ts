/**
 * Ports of the pods module, implemented with the subsystems. In: requests of pods. Out: their outcomes. Decides
 * nothing.
 *
 * Example:
 *     const { images } = podPorts(options, subsystems);
 *     const image = await images.ensure({ pod, container: "web", image: "nginx", policy: "" }, signal);
 */
import { METRICS } from "../../api/metrics/metrics.ts";
import type { Decisions } from "../../api/ports/decisions.ts";
import type { ResizeSettings } from "../admission/judge-resize.ts";
import type { PodMeasurePort, PodPorts } from "../pods/ports.ts";
import { type HookPortDeps, hookPort } from "./hook-port.ts";
import { memoryPort } from "./memory-port.ts";
import type { MissingDnsNotice } from "./port-events.ts";
import {
  type PodRoots,
  type PrerequisitesPortDeps,
  prerequisitesPort,
} from "./prerequisites-port.ts";
import { type ResizeDeps, resizePort } from "./resize-port.ts";
import { type RuntimePortDeps, runtimePort } from "./runtime-port.ts";

export { measurePort } from "./measure-port.ts";
export { recordMissingFeatures } from "./port-events.ts";

/** Folders and rules of the ports. */
export interface PortOptions {
  readonly roots: PodRoots;
  readonly resizes: ResizeSettings;
  readonly missingDns: MissingDnsNotice;
}

interface PortDeps
  extends PrerequisitesPortDeps,
    HookPortDeps,
    Omit<ResizeDeps, "settings">,
    Omit<RuntimePortDeps, "imageVolumes"> {
  readonly journal: Decisions;
  readonly measures: PodMeasurePort;
}

/** The ports of the pods module. */
export function podPorts(options: PortOptions, deps: PortDeps): PodPorts {
  const imageVolumes = {
    requested: deps.metrics.counter(METRICS.kubelet_image_volume_requested_total),
    mounted: deps.metrics.counter(METRICS.kubelet_image_volume_mounted_succeed_total),
    failed: deps.metrics.counter(METRICS.kubelet_image_volume_mounted_errors_total),
  };
  return {
    prerequisites: prerequisitesPort(options.roots, deps),
    runtime: runtimePort({ ...deps, imageVolumes }, options.missingDns),
    images: deps.images,
    devices: deps.topology,
    claims: deps.resourceClaims,
    hooks: hookPort(deps),
    resizes: resizePort({ ...deps, settings: options.resizes }),
    events: deps.events,
    decisions: deps.journal,
    memory: memoryPort(deps),
    measures: deps.measures,
  };
}
