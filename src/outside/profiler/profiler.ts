import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { OutsideError } from "../../kit/errors.ts";
import { encodeProfile, type Profile } from "./pprof.ts";
import { cpuStacks, heapStacks, type V8CpuProfile, type V8HeapNode } from "./stacks.ts";

/** Kinds of profiles, by the names that Go's pprof has for them. */
export type ProfileKind =
  /** Time on the processor, by function. */
  | "profile"
  /** Memory allocated while the profile was taken and still in use at its end. */
  | "heap"
  /** All that was allocated while the profile was taken. */
  | "allocs";

/**
 * Profiles this process by V8's inspector, without opening a port. Resolves with pprof's format, compressed. One
 * profile at a time: while another is being taken it is an `OutsideError` "exhausted".
 */
export interface Profiler {
  take(kind: ProfileKind, seconds: number, signal: AbortSignal): Promise<Uint8Array>;
}

/** Pause between two samples of the processor; V8's own. */
const CPU_INTERVAL_MICROS = 1_000;
/** Bytes between two samples of the heap, on average. */
const HEAP_INTERVAL_BYTES = 32 * 1024;
const NANOS_PER_MICRO = 1_000;
const MS_PER_SECOND = 1_000;
/** Node's module is loaded by the first profile. */
const compress = (profile: Uint8Array): Promise<Buffer> => promisify(gzip)(profile);

/** The profiler of this process. The inspector is loaded by the first profile. */
export function createProfiler(): Profiler {
  let busy = false;
  return {
    take: async (kind, seconds, signal) => {
      if (busy) throw new OutsideError("exhausted", "profiling already in use");
      busy = true;
      try {
        const { Session } = await import("node:inspector/promises");
        const session = new Session();
        session.connect();
        try {
          const take = kind === "profile" ? takeCpu : takeHeap;
          const profile = await take(session as unknown as Inspector, { kind, seconds }, signal);
          return await compress(encodeProfile(profile));
        } finally {
          session.disconnect();
        }
      } finally {
        busy = false;
      }
    },
  };
}

/** The methods of V8's inspector that are used. */
interface Inspector {
  post(method: string, params?: object): Promise<unknown>;
}

interface Wanted {
  readonly kind: ProfileKind;
  readonly seconds: number;
}

async function takeCpu(
  inspector: Inspector,
  { seconds }: Wanted,
  signal: AbortSignal,
): Promise<Profile> {
  const startedAtMs = Date.now();
  await inspector.post("Profiler.enable");
  await inspector.post("Profiler.setSamplingInterval", { interval: CPU_INTERVAL_MICROS });
  await inspector.post("Profiler.start");
  await sleep(seconds * MS_PER_SECOND, undefined, { signal });
  const { profile } = (await inspector.post("Profiler.stop")) as { profile: V8CpuProfile };
  return {
    types: [
      { type: "samples", unit: "count" },
      { type: "cpu", unit: "nanoseconds" },
    ],
    stacks: cpuStacks(profile),
    period: { type: "cpu", unit: "nanoseconds", value: CPU_INTERVAL_MICROS * NANOS_PER_MICRO },
    startedAtMs,
    durationMs: Date.now() - startedAtMs,
  };
}

async function takeHeap(
  inspector: Inspector,
  { kind, seconds }: Wanted,
  signal: AbortSignal,
): Promise<Profile> {
  const startedAtMs = Date.now();
  const all = kind === "allocs";
  await inspector.post("HeapProfiler.enable");
  await inspector.post("HeapProfiler.startSampling", {
    samplingInterval: HEAP_INTERVAL_BYTES,
    includeObjectsCollectedByMajorGC: all,
    includeObjectsCollectedByMinorGC: all,
  });
  await sleep(seconds * MS_PER_SECOND, undefined, { signal });
  if (!all) await inspector.post("HeapProfiler.collectGarbage");
  const { profile } = (await inspector.post("HeapProfiler.stopSampling")) as {
    profile: { head: V8HeapNode };
  };
  const type = { type: all ? "alloc_space" : "inuse_space", unit: "bytes" };
  return {
    types: [type],
    stacks: heapStacks(profile.head),
    period: { type: "space", unit: "bytes", value: HEAP_INTERVAL_BYTES },
    startedAtMs,
    durationMs: Date.now() - startedAtMs,
  };
}
