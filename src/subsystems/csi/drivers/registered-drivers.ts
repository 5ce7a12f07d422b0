import type { PluginHandler, RegisteredPlugin } from "../../../api/ports/plugin-handler.ts";
import { isFileName } from "../../../api/text/path-names.ts";
import { Cell, type Reading } from "../../../kit/cell.ts";
import type { Clock } from "../../../kit/clock.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import { CSI_NODE } from "../../../outside/plugins/plugins.ts";
import { transient } from "../csi-error.ts";
import { beginStep, type DriverCalls, type DriverClient } from "../wire/driver-client.ts";
import { compareVersions, type DriverVersion, highestSupported } from "./driver-version.ts";
import type { NodeRecords } from "./node-records.ts";
import type { DriverOnNode } from "./plan-records.ts";

interface RegisteredDriversDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly calls: DriverClient;
  /** Absent where there is no API server. */
  readonly records?: NodeRecords;
}

/** A driver that has registered. */
export interface RegisteredDriver {
  readonly name: string;
  readonly socketPath: string;
  readonly version: DriverVersion;
  readonly node: DriverOnNode;
}

/** Drivers of this node, by name. The last that registered under a name serves. */
export class RegisteredDrivers implements PluginHandler {
  readonly #deps: RegisteredDriversDeps;
  readonly #drivers = new Map<string, RegisteredDriver>();
  readonly #changes = new Cell(0);

  constructor(deps: RegisteredDriversDeps) {
    this.#deps = deps;
  }

  /** Rises whenever a driver comes or goes. */
  get changes(): Reading<number> {
    return this.#changes;
  }

  list(): readonly RegisteredDriver[] {
    return [...this.#drivers.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The calls of a driver. Throws a transient `CsiError` as long as it has not registered. */
  callsOf(name: string, doing: string): DriverCalls {
    const driver = this.#drivers.get(name);
    if (!driver)
      throw transient(
        `kubernetes.io/csi: ${doing}: driver name ${name} not found in the list of registered CSI drivers`,
      );
    return this.#deps.calls.of(name, driver.socketPath);
  }

  has(name: string): boolean {
    return this.#drivers.has(name);
  }

  /** Asks a driver what it is on this node, and makes it known. Throws what the registrar is to read. */
  async register({ name, socketPath, versions }: RegisteredPlugin): Promise<void> {
    const { records, scope } = this.#deps;
    // Its volumes are staged in a folder of its name.
    if (!isFileName(name))
      throw invalid(
        name,
        `${JSON.stringify(name)} cannot be the name of a folder: rename the driver`,
      );
    const found = highestSupported(versions);
    if ("problem" in found) throw invalid(name, found.problem);
    const { version } = found;
    const present = this.#drivers.get(name);
    if (present && compareVersions(present.version, version) >= 0)
      throw invalid(
        name,
        `Another driver with the same name is already registered with a higher supported version: "${present.version.join(".")}"`,
      );
    try {
      const node = await this.#infoOf({ name, socketPath });
      await records?.install(node, scope.signal);
      this.#drivers.set(name, { name, socketPath, version, node });
      this.#changed();
    } catch (error) {
      // Nothing is to be scheduled here for a driver that does not work here.
      if (!present) await records?.uninstall(name, scope.signal).catch(() => {});
      throw new OutsideError(
        "precondition",
        `RegisterPlugin error -- plugin registration failed with err: error updating CSI node info in the cluster: ${messageOf(error)}`,
        { cause: error },
      );
    }
  }

  /** Ends the use of the driver behind that socket; one that has taken its name over stays. */
  deregister({ name, socketPath }: RegisteredPlugin): void {
    if (this.#drivers.get(name)?.socketPath !== socketPath) return;
    this.#drivers.delete(name);
    this.#changed();
    const { records, scope, log } = this.#deps;
    if (!records || scope.signal.aborted) return;
    scope.spawn("driver that left", "restart", async (signal) => {
      if (this.#drivers.has(name)) return;
      await records.uninstall(name, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        log.warn("failed to take a driver out of the node's object", { driver: name, error });
      });
    });
  }

  /** Asks a driver again how many volumes it can have here. */
  async refresh(name: string): Promise<void> {
    const driver = this.#drivers.get(name);
    if (!driver) return;
    const node = await this.#infoOf(driver);
    await this.#deps.records?.refresh(node, this.#deps.scope.signal);
  }

  async #infoOf({
    name,
    socketPath,
  }: Pick<RegisteredDriver, "name" | "socketPath">): Promise<DriverOnNode> {
    const { calls, clock, scope, log } = this.#deps;
    const step = beginStep(clock, scope.signal);
    const info = await calls.of(name, socketPath).call(CSI_NODE.methods.nodeGetInfo, {}, step);
    if (info.nodeId === "")
      throw new OutsideError("invalid", "the driver reported an empty node ID");
    const max = Number(info.maxVolumesPerNode);
    if (max < 0)
      log.warn("a driver reported a negative number of volumes; none is taken for its limit", {
        driver: name,
        volumes: max,
      });
    return {
      name,
      nodeId: info.nodeId,
      maxVolumes: max > 0 ? max : undefined,
      topology: { ...info.accessibleTopology?.segments },
    };
  }

  #changed(): void {
    this.#changes.set(this.#changes.get() + 1);
  }
}

function invalid(name: string, problem: string): OutsideError {
  return new OutsideError(
    "invalid",
    `RegisterPlugin error -- plugin validation failed with err: driver ${name}: ${problem}`,
  );
}
