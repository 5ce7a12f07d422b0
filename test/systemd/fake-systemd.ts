/**
 * systemd's manager on a bus: transient slices with its rules (implicit parents, types of properties, jobs
 * that end with a signal) and its effects on cgroups.
 */
import { createClient, type InterfaceDescriptor, type MessageBus, type Variant } from "dbus-native";
import type { CgroupTree } from "../../src/outside/host/host.ts";
import { filesV1, filesV2, PROPERTY_TYPES, slicePath } from "./unit-files.ts";

const NAME = "org.freedesktop.systemd1";
const PATH = "/org/freedesktop/systemd1";
const MANAGER = "org.freedesktop.systemd1.Manager";

type Pairs = readonly (readonly [string, Variant])[];

/** An error as D-Bus carries it. */
class BusError extends Error {
  readonly dbusName: string;
  constructor(name: string, message: string) {
    super(message);
    this.dbusName = name;
  }
}

export interface FakeSystemdOptions {
  readonly address: string;
  readonly tree: CgroupTree;
  /** As systemd says it, e.g. `252.39-1~deb12u1`. */
  readonly version?: string;
  /** Pause before a job ends. */
  readonly jobMs?: number;
}

/** The service; ends with `close`. */
export class FakeSystemd implements AsyncDisposable {
  /** Properties of the loaded units by name. */
  readonly units = new Map<string, Map<string, unknown>>();
  /** Orders in the order they came, e.g. `start kubepods.slice`. */
  readonly jobs: string[] = [];
  /** Result of the next jobs, in place of `done`. */
  jobResult = "done";
  /** Jobs end without a signal. */
  mute = false;
  readonly #options: FakeSystemdOptions;
  readonly #bus: MessageBus;
  #subscribers = 0;
  #lastJob = 0;

  private constructor(options: FakeSystemdOptions, bus: MessageBus) {
    this.#options = options;
    this.#bus = bus;
  }

  static async start(options: FakeSystemdOptions): Promise<FakeSystemd> {
    const bus = createClient({ busAddress: options.address, variants: "wrap" });
    bus.connection.on("error", () => {});
    const systemd = new FakeSystemd(options, bus);
    systemd.#export();
    const { isPrimaryOwner } = await bus.ownName(NAME);
    if (!isPrimaryOwner) throw new Error("another systemd owns the name on this bus");
    return systemd;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bus.close();
  }

  #export(): void {
    const methods: InterfaceDescriptor["methods"] = {
      Subscribe: ["", "", [], []],
      StartTransientUnit: ["ssa(sv)a(sa(sv))", "o", [], []],
      SetUnitProperties: ["sba(sv)", "", [], []],
      StopUnit: ["ss", "o", [], []],
      ResetFailedUnit: ["s", "", [], []],
    };
    const impl = {
      Version: this.#options.version ?? "252.39-1~deb12u1",
      Subscribe: () => {
        this.#subscribers += 1;
        return null;
      },
      StartTransientUnit: (unit: string, mode: string, pairs: Pairs) =>
        this.#start(unit, mode, pairs),
      SetUnitProperties: (unit: string, _: boolean, pairs: Pairs) => this.#set(unit, pairs),
      StopUnit: (unit: string) => this.#stop(unit),
      ResetFailedUnit: (unit: string) => {
        if (!this.units.has(unit)) throw noSuchUnit(unit);
        return null;
      },
    };
    this.#bus.exportInterface(impl, PATH, {
      name: MANAGER,
      methods,
      properties: { Version: "s" },
      signals: { JobRemoved: ["uoss", "id", "job", "unit", "result"] },
    });
  }

  async #start(unit: string, mode: string, pairs: Pairs): Promise<string> {
    this.jobs.push(`start ${unit}`);
    if (mode !== "replace") throw invalid(`Job mode ${mode} invalid`);
    if (!/^[A-Za-z0-9:_.\\-]+\.slice$/.test(unit)) throw invalid(`Unit name ${unit} is not valid.`);
    if (this.units.has(unit)) {
      const text = `Unit ${unit} was already loaded or has a fragment file.`;
      throw new BusError("org.freedesktop.systemd1.UnitExists", text);
    }
    const properties = readProperties(pairs);
    for (const parent of parentsOf(unit)) {
      if (this.units.has(parent)) continue;
      this.units.set(parent, new Map());
      await this.#options.tree.create(slicePath(parent));
    }
    this.units.set(unit, properties);
    await this.#options.tree.create(slicePath(unit));
    await this.#realize(unit, properties);
    return this.#job(unit);
  }

  async #set(unit: string, pairs: Pairs): Promise<null> {
    this.jobs.push(`set ${unit}`);
    const properties = this.units.get(unit);
    if (!properties) throw noSuchUnit(unit);
    for (const [name, value] of readProperties(pairs)) properties.set(name, value);
    await this.#realize(unit, properties);
    return null;
  }

  async #stop(unit: string): Promise<string> {
    this.jobs.push(`stop ${unit}`);
    if (!this.units.has(unit)) throw noSuchUnit(unit);
    const prefix = unit.replace(/\.slice$/, "-");
    for (const other of [...this.units.keys()]) {
      if (other === unit || other.startsWith(prefix)) this.units.delete(other);
    }
    await this.#options.tree.destroy(slicePath(unit));
    return this.#job(unit);
  }

  async #realize(unit: string, properties: ReadonlyMap<string, unknown>): Promise<void> {
    const { tree } = this.#options;
    const files = tree.version === 1 ? filesV1(properties) : filesV2(properties);
    for (const [file, value] of files) await tree.write(slicePath(unit), file, value);
  }

  /** Signals go to whoever subscribed and to who ordered the job; here that is the same. */
  #job(unit: string): string {
    this.#lastJob += 1;
    const id = this.#lastJob;
    const job = `${PATH}/job/${id}`;
    const { jobMs = 1 } = this.#options;
    setTimeout(() => {
      if (this.mute || this.#subscribers === 0) return;
      const body = [id, job, unit, this.jobResult];
      this.#bus.sendSignal(PATH, MANAGER, "JobRemoved", "uoss", body);
    }, jobMs);
    return job;
  }
}

function parentsOf(unit: string): readonly string[] {
  const parts = unit.replace(/\.slice$/, "").split("-");
  return parts.slice(0, -1).map((_, i) => `${parts.slice(0, i + 1).join("-")}.slice`);
}

function readProperties(pairs: Pairs): Map<string, unknown> {
  const properties = new Map<string, unknown>();
  for (const [name, variant] of pairs) {
    const type = PROPERTY_TYPES[name];
    if (type === undefined) {
      const text = `Cannot set property ${name}, or unknown property.`;
      throw new BusError("org.freedesktop.DBus.Error.PropertyReadOnly", text);
    }
    if (variant.signature !== type) {
      throw invalid(`Property ${name} expects ${type}, not ${variant.signature}`);
    }
    properties.set(name, variant.value);
  }
  return properties;
}

function invalid(text: string): BusError {
  return new BusError("org.freedesktop.DBus.Error.InvalidArgs", text);
}

function noSuchUnit(unit: string): BusError {
  return new BusError("org.freedesktop.systemd1.NoSuchUnit", `Unit ${unit} not loaded.`);
}
