import { DEVICES_ANNOTATION } from "../../src/subsystems/devices/devices.ts";
import { ledgerFaults } from "../../src/subsystems/devices/ledger/ledger.ts";
import type { FakeContainer } from "./fake-runtime-objects.ts";
import { type SupervisedPlugin, variableOf } from "./supervised-plugin.ts";
import type { World } from "./world.ts";

/** What the note of a container says: ids by resource. */
export type Noted = ReadonlyMap<string, readonly string[]>;

const utf8 = new TextDecoder();

/** What must hold of devices at every moment, judged by what runs and not by what the agent thinks. */
export class DeviceChecks {
  readonly #world: World;
  readonly #plugins: readonly SupervisedPlugin[];
  readonly #notes = new Map<string, Noted>();
  /** What a container had first in its sandbox. */
  readonly #first = new Map<string, string>();
  #checked = 0;
  /** When each manifest last changed, by pod name; only asked about when nothing but devices is disturbed. */
  readonly changedAt = new Map<string, number>();
  gentle = false;

  constructor(world: World, plugins: readonly SupervisedPlugin[]) {
    this.#world = world;
    this.#plugins = plugins;
    world.watch = () => this.#always();
  }

  /** What the container was given, as it is written on it; compared with what it sees. */
  notedOf(container: FakeContainer): Noted {
    const known = this.#notes.get(container.id);
    if (known) return known;
    const text = container.config.annotations?.[DEVICES_ANNOTATION];
    const note = text === undefined ? {} : (JSON.parse(text) as Record<string, object>);
    const noted = new Map(
      Object.entries(note).map(([name, ids]) => [name, Object.keys(ids).sort()]),
    );
    for (const [resource, ids] of noted) {
      const seen = (container.config.envs ?? []).find(({ key }) => key === variableOf(resource));
      const inside = utf8.decode((seen?.value ?? new Uint8Array()) as Uint8Array);
      if (inside !== ids.join(","))
        this.#world.fail(
          `${container.id} sees ${resource} ${inside} and was given ${ids.join(",")}`,
        );
    }
    this.#notes.set(container.id, noted);
    return noted;
  }

  #always(): void {
    const { runtime, agent } = this.#world;
    const owners = new Map<string, string>();
    for (const container of runtime.containers.values()) {
      if (container.state !== "running") continue;
      const uid = runtime.sandboxes.get(container.sandboxId)?.config.metadata?.uid ?? "";
      for (const [resource, ids] of this.notedOf(container)) {
        this.#sameAsBefore(container, resource, ids);
        for (const id of ids) {
          const key = `${resource} ${id}`;
          const other = owners.get(key);
          const own = `${uid} ${container.config.metadata?.name}`;
          if (other !== undefined) this.#world.fail(`${key} is used by two: ${other} and ${own}`);
          owners.set(key, own);
        }
      }
    }
    this.#undisturbed();
    if (!agent) return;
    const { state, capacity } = agent.subsystems.devices;
    const faults = ledgerFaults(state.ledger);
    if (faults.length > 0) this.#world.fail(`the ledger is wrong: ${faults.join("; ")}`);
    for (const [resource, { allocatable, capacity: all }] of capacity.get().counts) {
      const plugin = this.#plugins.find((each) => each.resource === resource);
      if (allocatable > all || all > (plugin?.devices.length ?? 0) + 3)
        this.#world.fail(`${resource}: ${allocatable} of ${all} cannot be`);
    }
  }

  /** In one sandbox a container has the same devices with every attempt. */
  #sameAsBefore(container: FakeContainer, resource: string, ids: readonly string[]): void {
    const key = `${container.sandboxId} ${container.config.metadata?.name} ${resource}`;
    const first = this.#first.get(key);
    if (first === undefined) this.#first.set(key, ids.join(","));
    else if (first !== ids.join(","))
      this.#world.fail(`${key} had ${first} and was restarted with ${ids.join(",")}`);
  }

  /** Where only plugins, devices and agents come and go, no container that is wanted is ever stopped. */
  #undisturbed(): void {
    const { runtime } = this.#world;
    const fresh = runtime.actions.slice(this.#checked);
    this.#checked = runtime.actions.length;
    if (!this.gentle) return;
    for (const { op, id, atMs } of fresh) {
      if (op !== "exit") continue;
      const container = runtime.containers.get(id);
      const sandbox = container && runtime.sandboxes.get(container.sandboxId);
      if (!sandbox) continue;
      const name = (sandbox.config.metadata?.name ?? "").replace(/-sim$/, "");
      const madeAt =
        Number(sandbox.createdAt / 1_000_000n) -
        (this.#world.clock.wall() - this.#world.clock.monotonic());
      const changed = this.changedAt.get(name);
      if (changed !== undefined && changed < madeAt && container.program?.kind === "sleep")
        this.#world.fail(`container ${id} of ${name} was stopped at ${atMs} without a reason`);
    }
  }
}
