import type { Random } from "../../src/kit/random.ts";
import { type TestDevice, TestPlugin } from "../support/device-plugin.ts";
import type { FakeFiles } from "./fake-files.ts";
import type { FakeGrpc, GrpcProcess } from "./fake-grpc.ts";
import type { SimClock } from "./sim-clock.ts";

/** Where plugins and the agent's checkpoint are. */
export const PLUGIN_FOLDER = "/var/lib/kubelet/device-plugins";

/** How a plugin behaves when it is asked for devices. */
export type PluginBehaviour = "well" | "refusing" | "slow" | "hanging" | "dying";

/** The machine as plugins see it. */
export interface PluginMachine {
  readonly clock: SimClock;
  readonly files: FakeFiles;
  readonly grpc: FakeGrpc;
  readonly random: Random;
  readonly note: (text: string) => void;
}

const RETRY_MS = 1_000;
const SLOW_MS = 8_000;
const HANGING_MS = 45_000;
/** Longest time a plugin takes to notice that the agent is another one. */
const NOTICE_MS = 4_000;

/** The variable in which a container finds its devices of a resource. */
export function variableOf(resource: string): string {
  return resource.replace(/\W/g, "_").toUpperCase();
}

/** A plugin that is restarted when it ends, and registers with every new agent. */
export class SupervisedPlugin {
  readonly resource: string;
  readonly #machine: PluginMachine;
  #devices: readonly TestDevice[];
  #run: { readonly process: GrpcProcess; readonly plugin: TestPlugin } | undefined;
  #wanted = false;
  #agent: object | undefined;
  behaviour: PluginBehaviour = "well";
  /** Allocate calls that were answered or not, over all its lives. */
  asked = 0;

  constructor(resource: string, devices: readonly TestDevice[], machine: PluginMachine) {
    this.resource = resource;
    this.#devices = devices;
    this.#machine = machine;
    machine.files.watchDirectory(
      PLUGIN_FOLDER,
      () => this.#findAgent(),
      new AbortController().signal,
    );
  }

  get devices(): readonly TestDevice[] {
    return this.#devices;
  }

  set devices(devices: readonly TestDevice[]) {
    this.#devices = devices;
    if (this.#run) this.#run.plugin.devices = devices;
  }

  get runs(): boolean {
    return this.#wanted;
  }

  start(): void {
    if (this.#wanted) return;
    this.#machine.note(`plugin of ${this.resource} starts`);
    this.#wanted = true;
    this.#begin();
  }

  /** `kill -9`. */
  kill(): void {
    if (!this.#wanted) return;
    this.#machine.note(`plugin of ${this.resource} is killed`);
    this.#wanted = false;
    this.#run?.process.kill();
    this.#run = undefined;
  }

  #findAgent(): void {
    const agent = this.#machine.grpc.listenerAt(`${PLUGIN_FOLDER}/kubelet.sock`);
    if (!agent || agent === this.#agent) return;
    this.#agent = agent;
    const { clock, random } = this.#machine;
    clock.alarm(Math.floor(random.next() * NOTICE_MS), () => {
      if (this.#wanted && this.#agent === agent) this.#begin();
    });
  }

  /** A new process in the place of the one that was. */
  #begin(): void {
    this.#run?.process.kill();
    const process = this.#machine.grpc.process();
    const plugin = new TestPlugin(
      process.grpc,
      {
        resource: this.resource,
        socketName: `${variableOf(this.resource)}.sock`,
        folder: PLUGIN_FOLDER,
        preStart: this.resource.endsWith("gpu"),
        prefer: (available, amount) => available.toReversed().slice(0, amount),
        answer: (ids) => ({ envs: { [variableOf(this.resource)]: [...ids].sort().join(",") } }),
        onUnwatched: () => this.#again(process),
        before: (call) => (call === "allocate" ? this.#suffer() : Promise.resolve()),
      },
      this.#devices,
    );
    const run = { process, plugin };
    this.#run = run;
    plugin.start().catch((error: unknown) => {
      if (this.#run !== run) return;
      this.#machine.note(`plugin of ${this.resource} could not register: ${String(error)}`);
      this.#again(process);
    });
  }

  /** Tries again, unless it is another process by then. */
  #again(process: GrpcProcess): void {
    this.#machine.clock.alarm(RETRY_MS, () => {
      if (this.#run?.process === process && this.#wanted) this.#begin();
    });
  }

  async #suffer(): Promise<void> {
    this.asked += 1;
    const { clock } = this.#machine;
    const wait = (ms: number) => clock.sleep(ms, new AbortController().signal);
    switch (this.behaviour) {
      case "well":
        return;
      case "refusing":
        throw new Error("no");
      case "slow":
        return wait(SLOW_MS);
      case "hanging":
        return wait(HANGING_MS);
      case "dying":
        this.kill();
        return;
      default:
        this.behaviour satisfies never;
    }
  }
}
