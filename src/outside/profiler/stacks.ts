// pure
import type { ProfiledFrame, ProfiledStack } from "./pprof.ts";

/** A CPU profile as V8 gives it (`Profiler.stop`), times in microseconds. */
export interface V8CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: ProfiledFrame;
    readonly children?: readonly number[];
  }[];
  readonly startTime: number;
  readonly endTime: number;
  /** Node of each sample. */
  readonly samples?: readonly number[];
  /** Time since the sample before, of the first since `startTime`. */
  readonly timeDeltas?: readonly number[];
}

/** A node of a sampling heap profile (`HeapProfiler.getSamplingProfile`). */
export interface V8HeapNode {
  readonly callFrame: ProfiledFrame;
  readonly selfSize: number;
  readonly children: readonly V8HeapNode[];
}

const NANOS_PER_MICRO = 1_000;
/** Not a function, and no time of the processor. */
const IDLE = "(idle)";
const ROOT = "(root)";

/** Call stacks of a CPU profile with the number of samples and nanoseconds of each; idle time is left out. */
export function cpuStacks(profile: V8CpuProfile): readonly ProfiledStack[] {
  const { samples = [], timeDeltas = [], startTime, endTime } = profile;
  const measured = new Map<number, { samples: number; micros: number }>();
  let at = startTime;
  for (const [i, id] of samples.entries()) {
    at += timeDeltas[i] ?? 0;
    // A sample stands for the time until the next one.
    const micros = timeDeltas[i + 1] ?? Math.max(0, endTime - at);
    const sum = measured.get(id) ?? { samples: 0, micros: 0 };
    measured.set(id, { samples: sum.samples + 1, micros: sum.micros + Math.max(0, micros) });
  }
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map<number, number>();
  for (const { id, children = [] } of profile.nodes)
    for (const child of children) parents.set(child, id);
  return [...measured].flatMap(([id, sum]) => {
    const frames: ProfiledFrame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = nodes.get(at)?.callFrame;
      if (frame && frame.functionName !== ROOT) frames.push(frame);
    }
    if (frames.length === 0 || frames[0]?.functionName === IDLE) return [];
    return [{ frames, values: [sum.samples, sum.micros * NANOS_PER_MICRO] }];
  });
}

/** Call stacks of a sampling heap profile with the bytes allocated at each. */
export function heapStacks(head: V8HeapNode): readonly ProfiledStack[] {
  const stacks: ProfiledStack[] = [];
  const ahead: { readonly node: V8HeapNode; readonly callers: readonly ProfiledFrame[] }[] = [
    { node: head, callers: [] },
  ];
  for (let next = ahead.pop(); next; next = ahead.pop()) {
    const { node, callers } = next;
    const frames = node.callFrame.functionName === ROOT ? callers : [node.callFrame, ...callers];
    if (node.selfSize > 0 && frames.length > 0) stacks.push({ frames, values: [node.selfSize] });
    for (const child of node.children) ahead.push({ node: child, callers: frames });
  }
  return stacks;
}
