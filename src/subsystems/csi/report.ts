// pure
import type { CsiVolume } from "./csi-volume.ts";
import type { RegisteredDriver } from "./drivers/registered-drivers.ts";

/** Drivers and volumes as they are shown. */
export interface CsiReport {
  readonly drivers: readonly {
    readonly name: string;
    readonly socket: string;
    readonly version: string;
    readonly nodeId: string;
    /** Volumes that it can have here; absent: it says no number. */
    readonly maxVolumes?: number;
    readonly topology: Readonly<Record<string, string>>;
  }[];
  readonly volumes: readonly {
    /** Of the persistent volume, or in the pod's spec. */
    readonly name: string;
    readonly driver: string;
    readonly handle: string;
    readonly kind: "mount" | "block" | "inline";
    /** Whether a controller attaches it to the node. */
    readonly attaches: "yes" | "no" | "unknown";
    readonly staged: CsiVolume["device"];
    /** The step under way. */
    readonly doing?: string;
    /** The last failure. */
    readonly problem?: string;
    /** The step that is not done: under way, or the last that failed. */
    readonly step?: string;
    /** How long that has been tried. */
    readonly forSeconds?: number;
    /** Who has to do something first, or when it goes on. */
    readonly waitsFor?: string;
    readonly failures?: number;
    readonly retryInSeconds?: number;
    readonly pods: readonly {
      /** `namespace/name`, or the UID of one that an agent before this one had. */
      readonly pod: string;
      /** `waiting`: it is to have it; `leaving`: it is to have it no more. */
      readonly state: "waiting" | "uncertain" | "mounted" | "leaving";
    }[];
  }[];
}

type ShownVolume = CsiReport["volumes"][number];

/** The report at a time of the monotonic clock. */
export function reportCsi(
  drivers: readonly RegisteredDriver[],
  volumes: readonly CsiVolume[],
  nowMs: number,
): CsiReport {
  const registered = new Set(drivers.map(({ name }) => name));
  return {
    drivers: drivers.map(({ name, socketPath, version, node }) => ({
      name,
      socket: socketPath,
      version: version.join("."),
      nodeId: node.nodeId,
      ...(node.maxVolumes === undefined ? {} : { maxVolumes: node.maxVolumes }),
      topology: node.topology,
    })),
    volumes: volumes
      .map((volume) => shownVolume(volume, { registered, nowMs }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

interface Moment {
  /** Names of drivers. */
  readonly registered: ReadonlySet<string>;
  readonly nowMs: number;
}

function shownVolume(volume: CsiVolume, now: Moment): ShownVolume {
  const { specName, driver, handle, attachable, device, doing, problem, backoff } = volume;
  const { nowMs } = now;
  return {
    name: specName,
    driver,
    handle,
    kind: volume.isInline ? "inline" : volume.isBlock ? "block" : "mount",
    attaches: attachable === undefined ? "unknown" : attachable ? "yes" : "no",
    staged: device,
    ...(doing === undefined ? {} : { doing }),
    ...(problem === undefined ? {} : { problem }),
    ...(backoff
      ? {
          failures: backoff.failures,
          retryInSeconds: Math.max(0, Math.ceil((backoff.until - nowMs) / 1000)),
        }
      : {}),
    ...stuckAt(volume, now),
    pods: podsOf(volume),
  };
}

const WAITS: Readonly<Record<NonNullable<CsiVolume["waitsFor"]>, string>> = {
  controller: "the controller to attach it to this node",
  "other pod": "the other pod to end",
};

/** Of a volume with which something is not done: where it stands and what it waits for. */
function stuckAt(
  volume: CsiVolume,
  { registered, nowMs }: Moment,
): Pick<ShownVolume, "step" | "forSeconds" | "waitsFor"> {
  const { since, lastStep, doing, driver, backoff } = volume;
  if (since === undefined) return {};
  const waitsFor = () => {
    if (doing !== undefined) return `an answer of the driver ${driver}`;
    if (!registered.has(driver)) return `the driver ${driver} to register on this node`;
    if (volume.waitsFor) return WAITS[volume.waitsFor];
    return backoff && "the next attempt";
  };
  const waits = waitsFor();
  return {
    ...(lastStep === undefined ? {} : { step: lastStep }),
    forSeconds: Math.max(0, Math.floor((nowMs - since) / 1000)),
    ...(waits === undefined ? {} : { waitsFor: waits }),
  };
}

function podsOf({ pods, wanted, podNames }: CsiVolume): ShownVolume["pods"] {
  return [...new Set([...pods.keys(), ...wanted])].map((uid) => {
    const use = pods.get(uid)?.state ?? "waiting";
    return {
      pod: podNames.get(uid) ?? uid,
      state: wanted.has(uid) || use === "uncertain" ? use : "leaving",
    };
  });
}
