import type { Clock } from "../../../kit/clock.ts";
import { roundRobin, Slots } from "../../../kit/limits/slots.ts";
import { NEVER_ABORTED } from "../../../kit/within.ts";
import type { ServerMount } from "../volume-files.ts";
import { HandleWorker } from "./handle-worker.ts";
import type { UnansweredPlaces } from "./unanswered-places.ts";

/** Mounts at once: each is two small processes that mostly wait. */
const AT_ONCE = 64;
/** Of these, of one server: those that wait for a server which does not answer leave a place to others. */
const AT_ONCE_OF_ONE = 32;

/**
 * Mounts of file servers. A server may take minutes to say nothing, so they all wait in one worker, side by side, and
 * none takes the worker of anything else.
 */
export class ServerMounts {
  readonly #worker: HandleWorker;
  readonly #slots = new Slots({ total: AT_ONCE, perGroup: AT_ONCE_OF_ONE, order: roundRobin });

  constructor(clock: Clock, places: UnansweredPlaces) {
    this.#worker = new HandleWorker(clock, places);
  }

  /** See `VolumeFiles.mountServer`. */
  mount(mount: ServerMount): Promise<void> {
    const { source, target } = mount;
    const server = source.slice(0, source.lastIndexOf(":"));
    return this.#slots.run(server, NEVER_ABORTED, () =>
      this.#worker.call(this.#worker.current(), "volumes.mountServer", [mount], target),
    );
  }

  /** Ends the worker; what is under way fails. */
  close(): void {
    this.#worker.close();
  }
}
