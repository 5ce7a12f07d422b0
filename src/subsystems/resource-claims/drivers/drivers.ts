/**
 * The drivers of dynamic resource allocation that are registered. Of several instances of one driver, as there are during a
 * rolling update, the last that is connected is called. Whether a driver can be reached at all is reported as it changes.
 */
import type { PluginHandler, RegisteredPlugin } from "../../../api/ports/plugin-handler.ts";
import { Cell, type Reading } from "../../../kit/cell.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { MetricsRegistry } from "../../../kit/metrics.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import type { Grpc } from "../../../outside/grpc/grpc.ts";
import { DriverConnection, driverCallSeconds } from "./driver-connection.ts";
import { servicesOf } from "./driver-services.ts";

interface DriversDeps {
  /** Without it no driver can come. */
  readonly grpc: Grpc | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly events: DriverEvents;
  /** No driver registers before; never rejects. */
  readonly mayRegister: () => Promise<void>;
}

/** Notified of drivers; nothing here waits or throws. */
interface DriverEvents {
  /** Whether any instance of the driver can be reached has changed; at first none can. */
  onUsable(driver: string, usable: boolean): void;
  onRegistered(connection: DriverConnection): void;
}

/** More instances than any node has; one gone wild must not fill our memory. */
const MAX_INSTANCES = 512;

/** The registered drivers; see above. */
export class Drivers implements PluginHandler {
  readonly #deps: DriversDeps;
  readonly #calls: ReturnType<typeof driverCallSeconds>;
  /** In the order in which they registered. */
  readonly #instances = new Map<string, readonly DriverConnection[]>();
  readonly #usable = new Map<string, boolean>();
  readonly #changes = new Cell(0);

  constructor(deps: DriversDeps) {
    this.#deps = deps;
    this.#calls = driverCallSeconds(deps.metrics);
    deps.scope.defer("drivers", () => {
      for (const { target } of this.list()) this.deregister(registeredAs(target));
    });
  }

  /** Changes whenever a driver comes, goes, or can be reached or not. */
  get changes(): Reading<number> {
    return this.#changes;
  }

  /** All instances. */
  list(): readonly DriverConnection[] {
    return [...this.#instances.values()].flat();
  }

  /** The instance to call: the last that is connected, else the last. */
  find(driver: string): DriverConnection | undefined {
    const instances = this.#instances.get(driver) ?? [];
    return instances.findLast(isConnected) ?? instances.at(-1);
  }

  async register(plugin: RegisteredPlugin): Promise<void> {
    const { grpc, clock, log, scope } = this.#deps;
    const { name: driver, socketPath } = plugin;
    if (!grpc) throw new Error("DRA drivers cannot register here");
    await this.#deps.mayRegister();
    scope.signal.throwIfAborted();
    const services = servicesOf(plugin);
    const others = this.#instances.get(driver) ?? [];
    if (others.some(({ target }) => target.socketPath === socketPath))
      throw new Error(`endpoint ${socketPath} already registered for DRA driver plugin ${driver}`);
    if (this.list().length >= MAX_INSTANCES)
      throw new Error(`more than ${MAX_INSTANCES} DRA driver plugins are registered`);
    const target = { driver, socketPath, services };
    const connection = new DriverConnection(target, { grpc, clock, calls: this.#calls });
    this.#instances.set(driver, [...others, connection]);
    log.info("DRA driver registered", { driver, socketPath, service: services.plugin });
    connection.link.subscribe(() => this.#judge(driver));
    if (!this.#usable.has(driver)) this.#report(driver, false);
    this.#judge(driver);
    this.#changed();
    this.#deps.events.onRegistered(connection);
  }

  deregister({ name: driver, socketPath }: RegisteredPlugin): void {
    const instances = this.#instances.get(driver) ?? [];
    const gone = instances.find(({ target }) => target.socketPath === socketPath);
    if (!gone) return;
    const left = instances.filter((each) => each !== gone);
    if (left.length > 0) this.#instances.set(driver, left);
    else this.#instances.delete(driver);
    gone.close();
    this.#deps.log.info("DRA driver deregistered", { driver, socketPath });
    this.#judge(driver);
    if (left.length === 0) this.#usable.delete(driver);
    this.#changed();
  }

  #changed(): void {
    this.#changes.set(this.#changes.get() + 1);
  }

  #judge(driver: string): void {
    const usable = (this.#instances.get(driver) ?? []).some(isConnected);
    if (!this.#usable.has(driver) || this.#usable.get(driver) === usable) return;
    this.#report(driver, usable);
    this.#changed();
  }

  #report(driver: string, usable: boolean): void {
    this.#usable.set(driver, usable);
    if (!this.#deps.scope.signal.aborted) this.#deps.events.onUsable(driver, usable);
  }
}

const isConnected = ({ link }: DriverConnection): boolean => link.get() === "ready";

const registeredAs = ({ driver, socketPath }: DriverConnection["target"]): RegisteredPlugin => ({
  name: driver,
  socketPath,
  versions: [],
});
