import type { CSINode, Node } from "../../../api/generated/types.ts";
import { retryDelayMs } from "../../../kit/backoff.ts";
import { type Reading, until } from "../../../kit/cell.ts";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside, OutsideError } from "../../../kit/errors.ts";
import { SerialQueue } from "../../../kit/limits/serial-queue.ts";
import type { Log } from "../../../kit/log.ts";
import { within } from "../../../kit/within.ts";
import { CSI_NODES, isApiError, type KubeClient, NODES } from "../../../outside/kube/kube.ts";
import { type DriverOnNode, metadataPatch, newCsiNode, withDriver } from "./plan-records.ts";

interface NodeRecordsDeps {
  readonly client: Pick<KubeClient, "get" | "create" | "update" | "patch">;
  readonly clock: Clock;
  readonly log: Log;
  /** The node as the API has it. */
  readonly node: Reading<Node | undefined>;
}

/** A driver that comes or, without `install`, goes. */
interface DriverChange {
  readonly name: string;
  readonly install: DriverOnNode | undefined;
}

const TRIES = 4;
/** Between them (nodeinfomanager.go updateBackoff: 10 ms, five times as long each). */
const RETRY = { initialMs: 10, maxMs: 1_000 };
/** Until the object is there at the start of the agent. */
const START_RETRY = { initialMs: 200, maxMs: 30_000 };
/** How long the registration of a driver waits for the node's object. */
const NODE_MS = 10_000;

/** What the API knows of the drivers of this node: its object of the kind CSINode, and its annotation and labels. */
export class NodeRecords {
  readonly #deps: NodeRecordsDeps;
  readonly #queue = new SerialQueue();
  #problem: string | undefined = "CSINode is not yet initialized";

  constructor(deps: NodeRecordsDeps) {
    this.#deps = deps;
  }

  /** Why the object is not there yet; `undefined` once it is. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Makes the object, trying until it is there. */
  async initialize(signal: AbortSignal): Promise<void> {
    const { node, clock, log } = this.#deps;
    await until(node, (known) => known !== undefined, signal);
    for (let failures = 1; ; failures += 1) {
      try {
        await this.#queue.run(() => this.#updateObject(undefined, signal));
        this.#problem = undefined;
        return;
      } catch (error) {
        if (signal.aborted || !isOutside(error)) throw error;
        this.#problem = `failed to initialize CSINode: ${error.message}`;
        log.warn("failed to create the node's object of drivers; will retry", { error });
        await clock.sleep(retryDelayMs(failures, START_RETRY), signal);
      }
    }
  }

  /** Makes a driver of this node known. Throws `OutsideError`. */
  async install(driver: DriverOnNode, signal: AbortSignal): Promise<void> {
    const change = { name: driver.name, install: driver };
    await this.#queue.run(async () => {
      await this.#tried(() => this.#updateNode(change, signal), signal);
      await this.#tried(() => this.#updateObject(change, signal), signal);
    });
  }

  /** Updates how many volumes a driver can have, and nothing of the node. */
  async refresh(driver: DriverOnNode, signal: AbortSignal): Promise<void> {
    const change = { name: driver.name, install: driver };
    await this.#queue.run(() => this.#tried(() => this.#updateObject(change, signal), signal));
  }

  /** Takes a driver back; labels stay. Throws `OutsideError`. */
  async uninstall(name: string, signal: AbortSignal): Promise<void> {
    const change = { name, install: undefined };
    await this.#queue.run(async () => {
      await this.#tried(() => this.#updateObject(change, signal), signal);
      await this.#tried(() => this.#updateNode(change, signal), signal);
    });
  }

  async #tried(act: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await act();
        return;
      } catch (error) {
        if (signal.aborted || tries >= TRIES || !isOutside(error)) throw error;
        await this.#deps.clock.sleep(retryDelayMs(tries, RETRY) * 2, signal);
      }
    }
  }

  /** The node as the API has it now: one that was deleted and made again has another UID. */
  async #node(signal: AbortSignal): Promise<Node> {
    const { node, clock, client } = this.#deps;
    const message = "the Node object has not been received yet";
    await within({ clock, ms: NODE_MS, message }, signal, (waits) =>
      until(node, (known) => known !== undefined, waits),
    );
    const name = node.get()?.metadata?.name ?? "";
    return await client.get(NODES, { name }, signal);
  }

  async #updateNode(change: DriverChange, signal: AbortSignal): Promise<void> {
    const node = await this.#node(signal);
    const planned = metadataPatch(node, change);
    if ("problem" in planned) throw new OutsideError("invalid", planned.problem);
    if (!planned.patch) return;
    const place = { name: node.metadata?.name ?? "", subresource: "status" };
    const patch = { kind: "strategic", body: planned.patch } as const;
    await this.#deps.client.patch(NODES, place, patch, signal);
  }

  async #updateObject(change: DriverChange | undefined, signal: AbortSignal): Promise<void> {
    const { client } = this.#deps;
    const node = await this.#node(signal);
    const place = { name: node.metadata?.name ?? "" };
    const found = await client.get(CSI_NODES, place, signal).catch((error: unknown) => {
      if (isApiError(error, 404)) return undefined;
      throw error;
    });
    const before: CSINode = found ?? newCsiNode(node);
    const entry = change ?? { name: "", install: undefined };
    const now = withDriver(before, node, entry);
    if (!found) await client.create(CSI_NODES, {}, now, signal);
    else if (now !== found) await client.update(CSI_NODES, place, now, signal);
  }
}
