/** One connection to one device plugin, from dialling it until it ends. A plugin that comes back is another connection. */
import { Cell, type Reading } from "../../../kit/cell.ts";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside, messageOf, OutsideError } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import type { Grpc, GrpcChannel } from "../../../outside/grpc/grpc.ts";
import { dialPlugin } from "../../../outside/plugins/dial-plugin.ts";
import {
  ContainerAllocateResponse,
  DEVICE_PLUGIN,
  type DevicePluginOptions,
} from "../../../outside/plugins/plugins.ts";
import type { PreferenceQuestion } from "../choose.ts";
import type { Device } from "../inventory.ts";
import { readDevices } from "./read-devices.ts";

export interface PluginDeps {
  readonly grpc: Grpc;
  readonly clock: Clock;
  readonly log: Log;
  /** How long `Allocate` may take; 0 waits forever, as the Go kubelet. */
  readonly allocateMs: number;
}

/** Resource and socket of a plugin. */
export interface PluginTarget {
  readonly resource: string;
  readonly socketPath: string;
}

/** How far a connection is. */
type PluginState =
  | { readonly kind: "connecting" }
  /** Answers, has not named its devices yet. */
  | { readonly kind: "ready"; readonly options: DevicePluginOptions }
  | { readonly kind: "listing"; readonly options: DevicePluginOptions }
  /** `isRefused`: it sent a list that could not be taken, or an error in place of one. */
  | { readonly kind: "ended"; readonly why: string; readonly isRefused: boolean };

/** Deadlines of other calls; the Go kubelet has one for PreStartContainer only, and waits forever for the others. */
const OPTIONS_MS = 10_000;
const PREFER_MS = 10_000;
const PRE_START_MS = 30_000;

/** Lists that are taken in at once; what comes on top is taken in one per pause, so that a flood costs little. */
const LISTS_AT_ONCE = 20;
const LIST_PAUSE_MS = 100;

const SERVICE = DEVICE_PLUGIN.fullName;
const METHODS = DEVICE_PLUGIN.methods;

/** The connection; see above. */
export class PluginConnection {
  readonly target: PluginTarget;
  readonly #deps: PluginDeps;
  readonly #channel: GrpcChannel;
  readonly #ended = new AbortController();
  readonly #state = new Cell<PluginState>({ kind: "connecting" });

  private constructor(target: PluginTarget, deps: PluginDeps) {
    this.target = target;
    this.#deps = deps;
    this.#channel = deps.grpc.connect({ target: `unix://${target.socketPath}` });
  }

  /**
   * Dials the plugin and asks for its options. Throws what is to be reported to the plugin when that fails or
   * `signal` is aborted.
   */
  static async open(
    target: PluginTarget,
    deps: PluginDeps,
    signal: AbortSignal,
  ): Promise<PluginConnection> {
    const connection = new PluginConnection(target, deps);
    try {
      const failure = `failed to dial device plugin: nothing listens at ${target.socketPath}`;
      await dialPlugin(connection.#channel, deps.clock, failure, signal);
      const options = await connection
        .#call(
          (at) =>
            connection.#channel.unary(
              METHODS.getDevicePluginOptions,
              SERVICE,
              {},
              { signal: at, timeoutMs: OPTIONS_MS },
            ),
          signal,
        )
        .catch((error: unknown) => {
          if (!isOutside(error)) throw error;
          const message = `failed to get device plugin options: ${messageOf(error)}`;
          throw new OutsideError(error.code, message, { cause: error });
        });
      connection.#state.set({ kind: "ready", options });
      return connection;
    } catch (error) {
      connection.end(messageOf(error));
      throw error;
    }
  }

  get state(): Reading<PluginState> {
    return this.#state;
  }

  /** The plugin's options; none once it has ended. */
  get options(): DevicePluginOptions {
    const state = this.#state.get();
    return "options" in state ? state.options : NO_OPTIONS;
  }

  get ended(): boolean {
    return this.#state.get().kind === "ended";
  }

  /** Hands over every list of devices until the plugin disconnects or is stopped; the connection has ended then. */
  async follow(onDevices: (devices: readonly Device[]) => void): Promise<void> {
    const { signal } = this.#ended;
    const pace = new Pace(this.#deps.clock);
    try {
      const lists = this.#channel.serverStream(METHODS.listAndWatch, SERVICE, {}, { signal });
      for await (const { devices } of lists) {
        if (signal.aborted) return;
        const read = readDevices(devices);
        for (const oddity of read.oddities) this.#logOnce(oddity);
        this.#state.set({ kind: "listing", options: this.options });
        onDevices(read.devices);
        await pace.wait(signal);
      }
      this.end("it ended its list of devices");
    } catch (error) {
      this.end(messageOf(error), !isOutside(error, "unavailable", "aborted"));
    }
  }

  /** Asks for devices for one container; the answer comes encoded, as it is kept. */
  async allocate(ids: readonly string[], signal: AbortSignal): Promise<Uint8Array> {
    const request = { containerRequests: [{ devicesIds: [...ids] }] };
    const { allocateMs } = this.#deps;
    const limit = allocateMs > 0 ? { timeoutMs: allocateMs } : {};
    const { containerResponses } = await this.#call(
      (at) => this.#channel.unary(METHODS.allocate, SERVICE, request, { signal: at, ...limit }),
      signal,
    ).catch((error: unknown) => {
      if (!isOutside(error, "deadline") || allocateMs === 0) throw error;
      const hint = `no answer to Allocate within ${allocateMs / 1000} s (--device-allocate-timeout)`;
      throw new OutsideError("deadline", `${messageOf(error)}: ${hint}`, { cause: error });
    });
    const [answer] = containerResponses;
    if (!answer) throw new OutsideError("invalid", "no containers return in allocation response");
    return ContainerAllocateResponse.encode(answer).finish();
  }

  /** Which devices the plugin would take; advice. */
  async prefer(question: PreferenceQuestion, signal: AbortSignal): Promise<readonly string[]> {
    const request = {
      containerRequests: [
        {
          availableDeviceIDs: [...question.available],
          mustIncludeDeviceIDs: [...question.mustInclude],
          allocationSize: question.amount,
        },
      ],
    };
    const { containerResponses } = await this.#call(
      (at) =>
        this.#channel.unary(METHODS.getPreferredAllocation, SERVICE, request, {
          signal: at,
          timeoutMs: PREFER_MS,
        }),
      signal,
    );
    return containerResponses[0]?.deviceIDs ?? [];
  }

  /** Lets the plugin make devices ready for a container that is about to start. */
  async preStart(ids: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#call(
      (at) =>
        this.#channel.unary(
          METHODS.preStartContainer,
          SERVICE,
          { devicesIds: [...ids] },
          {
            signal: at,
            timeoutMs: PRE_START_MS,
          },
        ),
      signal,
    );
  }

  /** Ends the connection; calls under way end with it. The first reason counts. */
  end(why: string, isRefused = false): void {
    if (this.ended) return;
    this.#state.set({ kind: "ended", why, isRefused });
    this.#ended.abort(new OutsideError("unavailable", `the device plugin disconnected: ${why}`));
    this.#channel.close();
  }

  /** A call that ends with the connection as well as with the signal. */
  async #call<T>(act: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const either = new AbortController();
    const sources = [signal, this.#ended.signal];
    const onAbort = () => either.abort(sources.find(({ aborted }) => aborted)?.reason);
    for (const source of sources) source.addEventListener("abort", onAbort, { once: true });
    try {
      for (const source of sources) source.throwIfAborted();
      return await act(either.signal);
    } finally {
      for (const source of sources) source.removeEventListener("abort", onAbort);
    }
  }

  readonly #logged = new Set<string>();

  #logOnce(oddity: string): void {
    if (this.#logged.has(oddity)) return;
    this.#logged.add(oddity);
    this.#deps.log.warn("device plugin sent an invalid device list", { ...this.target, oddity });
  }
}

const NO_OPTIONS: DevicePluginOptions = {
  preStartRequired: false,
  getPreferredAllocationAvailable: false,
};

/** Lets the first lists through at once and makes a flood of them wait. */
class Pace {
  readonly #clock: Clock;
  #tokens = LISTS_AT_ONCE;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  async wait(signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(LISTS_AT_ONCE, this.#tokens + (now - this.#at) / LIST_PAUSE_MS);
    this.#at = now;
    this.#tokens -= 1;
    if (this.#tokens < 0) await this.#clock.sleep(LIST_PAUSE_MS, signal);
  }
}
