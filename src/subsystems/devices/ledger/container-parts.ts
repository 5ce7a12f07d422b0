// pure
/** Container settings from the plugins' responses. */
import type { EnvEntry } from "../../../api/env/env.ts";
import type { ContainerAllocateResponse } from "../../../outside/plugins/plugins.ts";
import { compareText } from "../requests.ts";
import type { Holding } from "./ledger.ts";

/** Additions to a container that holds devices; they come before those of its spec. */
export interface ContainerDeviceParts {
  readonly env: readonly EnvEntry[];
  readonly mounts: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly readonly: boolean;
  }[];
  readonly devices: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions: string;
  }[];
  readonly annotations: Readonly<Record<string, string>>;
  /** Fully qualified names, `vendor/class=device`. */
  readonly cdiDevices: readonly string[];
}

/** Nothing to add. */
export const NO_DEVICE_PARTS: ContainerDeviceParts = {
  env: [],
  mounts: [],
  devices: [],
  annotations: {},
  cdiDevices: [],
};

/** Annotation of containers with their devices, for recovery when the checkpoint is lost. */
export const DEVICES_ANNOTATION = "io.nodelet.devices";

/** The answers of several plugins as one. */
interface MergedAnswers {
  readonly parts: ContainerDeviceParts;
  /** Settings on which two plugins conflict; the first one is used. */
  readonly conflicts: readonly string[];
}

/**
 * Puts the answers for one container together, resources by name. Where two set the same variable, path or
 * annotation the first one counts. Holdings without an answer add nothing.
 */
export function mergeAnswers(
  holdings: readonly Holding[],
  decode: (answer: Uint8Array) => ContainerAllocateResponse,
): MergedAnswers {
  const env = new First("variable");
  const mounts = new Map<string, ContainerDeviceParts["mounts"][number]>();
  const devices = new Map<string, ContainerDeviceParts["devices"][number]>();
  const annotations = new First("annotation");
  const cdi = new Set<string>();
  for (const { resource, answer } of sortedByResource(holdings)) {
    if (!answer) continue;
    const parts = decode(answer);
    env.addAll(resource, parts.envs);
    annotations.addAll(resource, parts.annotations);
    for (const { containerPath, hostPath, readOnly } of parts.mounts)
      if (!mounts.has(containerPath))
        mounts.set(containerPath, { containerPath, hostPath, readonly: readOnly });
    for (const { containerPath, hostPath, permissions } of parts.devices)
      if (!devices.has(containerPath))
        devices.set(containerPath, { containerPath, hostPath, permissions });
    for (const { name } of parts.cdiDevices) cdi.add(name);
  }
  const note = { [DEVICES_ANNOTATION]: writeNote(holdings) };
  return {
    parts: {
      env: [...env.values].map(([name, value]) => ({ name, value })),
      mounts: [...mounts.values()],
      devices: [...devices.values()],
      annotations: { ...Object.fromEntries(annotations.values), ...note },
      cdiDevices: [...cdi],
    },
    conflicts: [...env.conflicts, ...annotations.conflicts],
  };
}

/** Which devices a container holds, as text: ids by resource, with their NUMA nodes. */
export function writeNote(holdings: readonly Holding[]): string {
  return JSON.stringify(
    Object.fromEntries(
      sortedByResource(holdings).map(({ resource, devices }) => [
        resource,
        Object.fromEntries(devices.map(({ id, nodes }) => [id, nodes])),
      ]),
    ),
  );
}

/** Parses the output of `writeNote`; `undefined` for other text. */
export function readNote(
  text: string,
): readonly Pick<Holding, "resource" | "devices">[] | undefined {
  let note: unknown;
  try {
    note = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof note !== "object" || note === null || Array.isArray(note)) return undefined;
  return Object.entries(note).flatMap(([resource, ids]: [string, unknown]) => {
    if (typeof ids !== "object" || ids === null) return [];
    const devices = Object.entries(ids).map(([id, nodes]: [string, unknown]) => ({
      id,
      nodes: Array.isArray(nodes) ? nodes.filter((node) => typeof node === "number") : [],
    }));
    devices.sort((a, b) => compareText(a.id, b.id));
    return devices.length === 0 ? [] : [{ resource, devices }];
  });
}

function sortedByResource(holdings: readonly Holding[]): readonly Holding[] {
  return [...holdings].sort((a, b) => compareText(a.resource, b.resource));
}

/** Values by name, the first one kept. */
class First {
  readonly values = new Map<string, string>();
  readonly conflicts: string[] = [];
  readonly #what: string;

  constructor(what: string) {
    this.#what = what;
  }

  addAll(resource: string, values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values).sort(([a], [b]) => compareText(a, b))) {
      const known = this.values.get(name);
      if (known === undefined) this.values.set(name, value);
      else if (known !== value)
        this.conflicts.push(`${this.#what} ${name}: the plugin of ${resource} sets another value`);
    }
  }
}
