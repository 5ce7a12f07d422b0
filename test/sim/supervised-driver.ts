import type { Random } from "../../src/kit/random.ts";
import { ClaimDriver } from "../support/claim-driver.ts";
import type { FakeFiles } from "./fake-files.ts";
import type { FakeGrpc, GrpcProcess } from "./fake-grpc.ts";
import type { SimClock } from "./sim-clock.ts";

/** How a driver behaves when it is called; `losing`: it does its work, and its answer is lost. */
type DriverBehaviour = "well" | "refusing" | "slow" | "losing";

/** The machine as drivers see it. */
interface DriverMachine {
  readonly clock: SimClock;
  readonly files: FakeFiles;
  readonly grpc: FakeGrpc;
  readonly random: Random;
  readonly note: (text: string) => void;
  readonly onUnprepare: (uid: string) => void;
}

const REGISTRY = "/var/lib/kubelet/plugins_registry";
/** Some are longer than a call may take. */
const SLOW_MS = 60_000;

/** Name of the CDI device of a claim. */
export const idOf = (driver: string, uid: string): string => `${driver}/device=${uid}`;

/** The claim of a CDI device. */
export const uidOf = (id: string): string => id.slice(id.indexOf("=") + 1);

/** A driver that is killed and started again; what it has prepared is on its disk. */
export class SupervisedDriver {
  readonly name: string;
  readonly #machine: DriverMachine;
  #process: GrpcProcess | undefined;
  #lives = 0;
  behaviour: DriverBehaviour = "well";
  /** UIDs of claims that it has prepared, whichever of its processes. */
  readonly prepared = new Set<string>();
  /** How many it has unprepared. */
  unprepared = 0;

  constructor(name: string, machine: DriverMachine) {
    this.name = name;
    this.#machine = machine;
  }

  get #folder(): string {
    return `/var/lib/kubelet/plugins/${this.name}`;
  }

  async prepareFolders(): Promise<void> {
    for (const folder of [REGISTRY, this.#folder])
      await this.#machine.files.makeDirectory(folder, 0o755);
  }

  start(): void {
    if (this.#process) return;
    const { grpc, note } = this.#machine;
    note(`${this.name} starts`);
    this.#lives += 1;
    const process = grpc.process();
    this.#process = process;
    // One call after the other, as the library of drivers does it: what is given up may still be under way.
    let last = Promise.resolve();
    const inTurn = (serve: () => Promise<void>): Promise<void> => {
      const served = last.then(serve);
      last = served.catch(() => {});
      return served;
    };
    const driver = new ClaimDriver(process.grpc, {
      name: this.name,
      registry: REGISTRY,
      folder: this.#folder,
      instance: `i${this.#lives}`,
      before: (call, claims) => inTurn(() => this.#serve(call, claims)),
      devices: ({ uid }) => [
        {
          requestNames: [],
          poolName: "p",
          deviceName: "d",
          cdiDeviceIds: [idOf(this.name, uid)],
        },
      ],
    });
    driver.start().catch((error: unknown) => note(`${this.name} cannot start: ${String(error)}`));
  }

  async #serve(
    call: "prepare" | "unprepare",
    claims: readonly { readonly uid: string }[],
  ): Promise<void> {
    await this.#suffer();
    for (const { uid } of claims) {
      if (call === "prepare") this.prepared.add(uid);
      else if (this.prepared.delete(uid)) {
        this.unprepared += 1;
        this.#machine.onUnprepare(uid);
      }
    }
    if (this.behaviour === "losing") throw new Error("the answer is lost");
  }

  /** `kill -9`. */
  kill(): void {
    if (!this.#process) return;
    this.#machine.note(`${this.name} is killed`);
    this.#process.kill();
    this.#process = undefined;
  }

  async #suffer(): Promise<void> {
    const { clock, random } = this.#machine;
    const process = this.#process;
    const ms = this.behaviour === "slow" ? random.next() * SLOW_MS : random.next() * 500;
    await clock.sleep(ms, new AbortController().signal);
    // A process that was killed meanwhile does nothing any more.
    if (this.#process !== process) await new Promise<never>(() => {});
    if (this.behaviour === "refusing") throw new Error("the driver is not well");
  }
}
