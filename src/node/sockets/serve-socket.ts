import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Grpc, GrpcListener, ServedCall } from "../../outside/grpc/grpc.ts";
import type { Files } from "../../outside/host/host.ts";

/** What serving a socket needs of the process. */
export interface ServeSocketDeps {
  /** Without it nothing is served. */
  readonly grpc: Grpc | undefined;
  readonly files: Pick<Files, "makeDirectory">;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** A socket for programs of the node. */
interface ServedSocket {
  /** What is served there, in log lines: `pod resources API`. */
  readonly name: string;
  readonly folder: string;
  /** Name of the socket in the folder. */
  readonly file: string;
  readonly calls: readonly ServedCall[];
  /** How long calls have to end by themselves when the agent does; 0 when left out. */
  readonly finishMs?: number;
}

const FOLDER_MODE = 0o750;
/** Pause before the socket is made again when it could not be. */
const RETRY_MS = 5_000;

/** Listens in the folder, for root, as long as the scope is open; a socket that breaks is made again. */
export function serveSocket(
  { name, folder, file, calls, finishMs }: ServedSocket,
  { grpc, files, clock, log, scope }: ServeSocketDeps,
): void {
  if (!grpc) return;
  const path = `${folder}/${file}`;
  scope.spawn(name, "restart", async (signal) => {
    const wakeup = new Wakeup();
    let listener: GrpcListener | undefined;
    scope.defer(`socket of the ${name}`, () => listener?.close(finishMs));
    for (;;) {
      try {
        await files.makeDirectory(folder, FOLDER_MODE);
        listener = await grpc.listen({ path, calls, onBroken: () => wakeup.wake() });
        await wakeup.wait(undefined, signal);
      } catch (error) {
        log.error(`${name} is not available`, { path, error });
      }
      if (signal.aborted) return;
      await clock.sleep(RETRY_MS, signal).catch(() => {});
      if (signal.aborted) return;
    }
  });
}
