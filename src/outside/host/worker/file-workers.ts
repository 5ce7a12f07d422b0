/**
 * File workers: processes that make the system calls on files which pods, mounts and network file systems
 * control. In: requests. Out: answers, or that there is none and why. Invariants: nothing that such a file
 * system does or leaves undone makes the agent wait beyond a limit or takes its threads; the number of
 * processes is bounded; a place that does not answer is asked by one process at a time.
 */
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { OpenFolderBeneath } from "../files/open-folder.ts";
import type { DiskUsage, FileWorkerFacts, PodFiles } from "../host.ts";
import type { VolumeFiles } from "../volume-files.ts";
import { HandleWorker } from "./handle-worker.ts";
import { WorkerPool } from "./pool.ts";
import {
  createDiskUsage,
  createPodFiles,
  createRemoteVolumes,
  type RunInWorker,
} from "./remote-files.ts";
import { openFolderThrough } from "./remote-folder.ts";
import { ServerMounts } from "./server-mounts.ts";
import { UnansweredPlaces } from "./unanswered-places.ts";
import { WorkerProcess } from "./worker-process.ts";

/** Everything that workers do. */
export interface FileWorkers {
  readonly podFiles: PodFiles;
  readonly volumes: VolumeFiles;
  readonly diskUsage: (path: string) => Promise<DiskUsage | undefined>;
  readonly openFolder: OpenFolderBeneath;
  facts(): FileWorkerFacts;
  /** Has the worker that stays give back what it does not use; where none runs, none is started. */
  releaseMemory(): Promise<void>;
  /** Ends all of them; what is under way fails. */
  close(): void;
}

/** A worker that is started ahead of everything else, for `createFileWorkers`; it ends with this process. */
export function startFileWorker(): WorkerProcess {
  return new WorkerProcess("in turn");
}

/** Workers of this agent; the first is started by the first request, where none was started ahead. */
export function createFileWorkers(deps: {
  readonly clock: Clock;
  readonly log: Log;
  readonly first?: WorkerProcess;
}): FileWorkers {
  const places = new UnansweredPlaces(deps);
  const pool = new WorkerPool(deps, places);
  const handles = new HandleWorker(deps.clock, places);
  const servers = new ServerMounts(deps.clock, places);
  const run = ((operation, args, paths) => pool.run(operation, args, paths)) as RunInWorker;
  return {
    podFiles: createPodFiles(run),
    volumes: createRemoteVolumes(run, servers),
    diskUsage: createDiskUsage(run),
    openFolder: openFolderThrough(handles),
    facts: () => ({
      ...pool.facts(),
      stuck: places.stuck,
      timeouts: places.timeouts,
      unanswered: places.list(),
    }),
    releaseMemory: async () => {
      if (pool.facts().workers > 0) await pool.run("memory.release", [], []);
    },
    close: () => {
      pool.close();
      handles.close();
      servers.close();
    },
  };
}
