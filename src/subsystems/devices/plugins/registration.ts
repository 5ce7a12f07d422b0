/** Registration of device plugins: the gRPC service on the socket whose path they have built in. */
import { isPathBelow } from "../../../api/text/path-names.ts";
import { Cell, type Reading } from "../../../kit/cell.ts";
import type { Clock } from "../../../kit/clock.ts";
import { messageOf, UsageError } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import { Wakeup } from "../../../kit/loops/wakeup.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import { type Grpc, type GrpcListener, unaryCall } from "../../../outside/grpc/grpc.ts";
import type { Files } from "../../../outside/host/host.ts";
import { DEVICE_REGISTRATION } from "../../../outside/plugins/plugins.ts";
import type { ConnectedPlugins } from "./connected-plugins.ts";

interface RegistrationDeps {
  readonly grpc: Grpc;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly connected: ConnectedPlugins;
}

const FOLDER_MODE = 0o750;
const SOCKET_NAME = "kubelet.sock";
/** Pause before the socket is made again when it could not be. */
const RETRY_MS = 1_000;

/** Listens for plugins, again and again should the socket be lost. */
export class RegistrationService {
  readonly #folder: string;
  readonly #deps: RegistrationDeps;
  readonly #problem = new Cell<string | undefined>("the socket for device plugins is not open yet");
  #listener: GrpcListener | undefined;
  /** Whether the sockets of a previous run are gone. */
  #isCleared = false;
  /** A reason that lasts is logged once. */
  #logged: string | undefined;

  constructor(folder: string, deps: RegistrationDeps) {
    this.#folder = folder;
    this.#deps = deps;
  }

  /** Problem with the socket; `undefined` when there is none. */
  get problem(): Reading<string | undefined> {
    return this.#problem;
  }

  /**
   * Removes the sockets that a previous run and its plugins left, by which plugins that watch them know
   * that they must come again, and opens ours. What cannot be done of it is tried again in the background.
   */
  async open(): Promise<void> {
    const { scope } = this.#deps;
    await this.#listen();
    // Closed after the guard has ended, which would open it again.
    scope.defer("device plugin socket", () => this.#listener?.close());
    scope.spawn("guard of the device plugin socket", "restart", (signal) => this.#guard(signal));
  }

  async #prepareFolder(): Promise<void> {
    const { files } = this.#deps;
    await files.makeDirectory(this.#folder, FOLDER_MODE);
    if (this.#isCleared) return;
    for (const { name, kind } of (await files.list(this.#folder)) ?? [])
      if (kind === "socket") await files.remove(`${this.#folder}/${name}`);
    this.#isCleared = true;
  }

  async #listen(): Promise<void> {
    const { grpc, connected, log } = this.#deps;
    const path = `${this.#folder}/${SOCKET_NAME}`;
    const register = unaryCall(
      DEVICE_REGISTRATION.fullName,
      DEVICE_REGISTRATION.methods.register,
      async ({ version, resourceName, endpoint }) => {
        if (!isPathBelow(endpoint))
          throw new UsageError(
            `endpoint ${JSON.stringify(endpoint)} must be the path of a socket below ${this.#folder}`,
          );
        const socketPath = `${this.#folder}/${endpoint}`;
        log.verbose(2, "device plugin requested registration", { resourceName, endpoint, version });
        await connected.register({ version, resource: resourceName, socketPath });
        return {};
      },
    );
    try {
      await this.#prepareFolder();
      this.#listener = await grpc.listen({
        path,
        calls: [register],
        onBroken: (error) => {
          this.#problem.set(messageOf(error));
          this.#listener = undefined;
        },
      });
      this.#logged = undefined;
      this.#problem.set(undefined);
    } catch (error) {
      this.#listener = undefined;
      const problem = messageOf(error);
      if (this.#logged !== problem)
        log.error("failed to serve device plugin registration", { path, error: problem });
      this.#logged = problem;
      this.#problem.set(problem);
    }
  }

  /** Recreates the socket when it broke, or was removed: plugins could not connect any more. */
  async #guard(signal: AbortSignal): Promise<void> {
    const { files, clock } = this.#deps;
    const wakeup = new Wakeup();
    files.watchDirectory(this.#folder, () => wakeup.wake(), signal);
    const stop = this.#problem.subscribe(() => wakeup.wake());
    try {
      while (!signal.aborted) {
        const path = `${this.#folder}/${SOCKET_NAME}`;
        const lost = (await files.facts(path))?.kind !== "socket";
        if (signal.aborted) return;
        if (lost || !this.#listener) {
          await this.#listener?.close();
          await this.#listen();
        }
        if (!this.#listener) await clock.sleep(RETRY_MS, signal).catch(() => {});
        else await wakeup.wait(undefined, signal);
      }
    } finally {
      stop();
    }
  }
}
