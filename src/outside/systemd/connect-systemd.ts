import type { Message, MessageBus } from "dbus-native";
import type { Clock } from "../../kit/clock.ts";
import { isOutside, messageOf, OutsideError } from "../../kit/errors.ts";
import { Jobs } from "./jobs.ts";
import type { SystemdUnits, UnitProperty } from "./systemd.ts";
import { hasLostConnection, systemdError } from "./systemd-error.ts";

/** A way to systemd: through a bus, or straight to its own socket. */
interface SystemdAddress {
  /** D-Bus spelling, e.g. `unix:path=/run/dbus/system_bus_socket`. */
  readonly address: string;
  /** There is no bus in between. */
  readonly direct?: boolean;
}

/** Addresses of systemd and limits of its calls. */
interface SystemdOptions {
  readonly clock: Clock;
  /** Tried in this order; the machine's own when left out. */
  readonly addresses?: readonly SystemdAddress[];
  /** Longest time a unit may take to start or stop. */
  readonly jobTimeoutMs?: number;
}

/** The system bus, and the socket that root may use without a bus. */
const MACHINE: readonly SystemdAddress[] = [
  { address: "unix:path=/run/dbus/system_bus_socket" },
  { address: "unix:path=/run/systemd/private", direct: true },
];

const NAME = "org.freedesktop.systemd1";
const PATH = "/org/freedesktop/systemd1";
const MANAGER = "org.freedesktop.systemd1.Manager";
const PROPERTIES = "org.freedesktop.DBus.Properties";

/** How systemd treats conflicting jobs. */
const MODE = "replace";
const CALL_TIMEOUT_MS = 25_000;
const JOB_TIMEOUT_MS = 30_000;
const SIGNAL_TYPE = 4;
const JOB_SIGNALS = `type='signal',sender='${NAME}',interface='${MANAGER}',member='JobRemoved'`;

/** systemd of this machine. Connects with the first call and again when the connection was lost. */
export function connectSystemd(options: SystemdOptions): SystemdUnits & { close(): Promise<void> } {
  return new SystemdClient(options);
}

interface Link {
  readonly bus: MessageBus;
  readonly jobs: Jobs;
  readonly direct: boolean;
}

interface ManagerCall {
  readonly member: string;
  readonly interface?: string;
  readonly signature?: string;
  readonly body?: readonly unknown[];
}

class SystemdClient implements SystemdUnits {
  readonly #options: SystemdOptions;
  #link: Promise<Link> | undefined;
  #pending = 0;

  constructor(options: SystemdOptions) {
    this.#options = options;
  }

  async version(): Promise<number> {
    const text = await this.#run("ask systemd for its version", ({ bus, direct }) =>
      callManager<unknown>(
        { bus, direct },
        {
          interface: PROPERTIES,
          member: "Get",
          signature: "ss",
          body: [MANAGER, "Version"],
        },
      ),
    );
    const major = /^"?v?(\d+)/.exec(String(text))?.[1];
    if (major === undefined) {
      throw new OutsideError("io", `systemd says that its version is ${JSON.stringify(text)}`);
    }
    return Number(major);
  }

  async start(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    try {
      await this.#job(`start systemd unit ${unit}`, unit, {
        member: "StartTransientUnit",
        signature: "ssa(sv)a(sa(sv))",
        body: [unit, MODE, properties.map(encodeProperty), []],
      });
    } catch (thrown) {
      if (!isOutside(thrown, "alreadyExists")) throw thrown;
    }
  }

  async setProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    await this.#run(`set properties of systemd unit ${unit}`, (link) =>
      callManager(link, {
        member: "SetUnitProperties",
        signature: "sba(sv)",
        // Until the next boot: the agent recreates its units then.
        body: [unit, true, properties.map(encodeProperty)],
      }),
    );
  }

  async stop(unit: string): Promise<void> {
    try {
      await this.#job(`stop systemd unit ${unit}`, unit, {
        member: "StopUnit",
        signature: "ss",
        body: [unit, MODE],
      });
    } catch (thrown) {
      if (!isOutside(thrown, "notFound")) throw thrown;
      return;
    }
    await this.#resetFailed(unit);
  }

  async close(): Promise<void> {
    const link = await this.#link?.catch(() => undefined);
    this.#link = undefined;
    await link?.bus.close();
  }

  /** A unit that failed would stay loaded under its name; usually there is nothing to reset. */
  async #resetFailed(unit: string): Promise<void> {
    try {
      await this.#run(`reset systemd unit ${unit}`, (link) =>
        callManager(link, { member: "ResetFailedUnit", signature: "s", body: [unit] }),
      );
    } catch (thrown) {
      if (!isOutside(thrown)) throw thrown;
    }
  }

  /** Starts a systemd job and waits for its end. */
  async #job(action: string, unit: string, call: ManagerCall): Promise<void> {
    const result = await this.#run(action, async (link) => {
      const job = await callManager<string>(link, call);
      const { clock, jobTimeoutMs = JOB_TIMEOUT_MS } = this.#options;
      return link.jobs.ended(job, clock, jobTimeoutMs);
    });
    if (result === "done") return;
    await this.#resetFailed(unit);
    const code = result === "timeout" ? "deadline" : "io";
    throw new OutsideError(code, `${action}: its job ended with ${JSON.stringify(result)}`);
  }

  /** Runs `work` on the connection, once more on a new one when it was lost: all calls are idempotent. */
  async #run<T>(action: string, work: (link: Link) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const link = await this.#connect();
      try {
        this.#hold(link, 1);
        return await work(link);
      } catch (thrown) {
        if (!hasLostConnection(thrown)) throw systemdError(action, thrown);
        this.#link = undefined;
        if (attempt > 1) throw systemdError(action, thrown);
      } finally {
        this.#hold(link, -1);
      }
    }
  }

  /** An idle connection does not keep the process alive. */
  #hold({ bus, jobs }: Link, by: 1 | -1): void {
    this.#pending += by;
    const stream = bus.connection.stream as { ref?: () => void; unref?: () => void };
    if (this.#pending > 0) stream.ref?.();
    else {
      stream.unref?.();
      jobs.forget();
    }
  }

  #connect(): Promise<Link> {
    if (this.#link === undefined) {
      const link = openFirst(this.#options.addresses ?? MACHINE);
      this.#link = link;
      link.then(
        ({ bus }) => bus.connection.on("close", () => this.#drop(link)),
        () => this.#drop(link),
      );
    }
    return this.#link;
  }

  #drop(link: Promise<Link>): void {
    if (this.#link === link) this.#link = undefined;
  }
}

async function openFirst(addresses: readonly SystemdAddress[]): Promise<Link> {
  const problems: string[] = [];
  for (const address of addresses) {
    try {
      return await open(address);
    } catch (thrown) {
      problems.push(`${address.address}: ${messageOf(thrown)}`);
    }
  }
  throw new OutsideError("unavailable", `systemd cannot be reached: ${problems.join("; ")}`);
}

async function open({ address, direct = false }: SystemdAddress): Promise<Link> {
  // Only machines that have systemd keep their groups pay for the library.
  const { createClient } = await import("dbus-native");
  const bus = createClient({
    busAddress: address,
    direct,
    authMethods: ["EXTERNAL"],
    timeout: CALL_TIMEOUT_MS,
  });
  const jobs = new Jobs();
  bus.connection.on("message", (message) => readJobSignal(message, jobs));
  bus.connection.on("close", () => jobs.lose());
  const broken = new Promise<never>((_, reject) => bus.connection.on("error", reject));
  broken.catch(() => {});
  try {
    if (!direct) await Promise.race([broken, bus.addMatch(JOB_SIGNALS)]);
    await Promise.race([broken, callManager({ bus, direct }, { member: "Subscribe" })]);
  } catch (thrown) {
    void bus.close();
    throw thrown;
  }
  return { bus, jobs, direct };
}

function readJobSignal(message: Message, jobs: Jobs): void {
  if (message.type !== SIGNAL_TYPE || message.interface !== MANAGER) return;
  const [, job, , result] = message.body ?? [];
  if (message.member === "JobRemoved" && typeof job === "string") jobs.end(job, String(result));
}

async function callManager<T>(
  { bus, direct }: Pick<Link, "bus" | "direct">,
  { member, interface: of = MANAGER, signature, body }: ManagerCall,
): Promise<T> {
  return await bus.invoke<T>({
    ...(direct ? {} : { destination: NAME }),
    path: PATH,
    interface: of,
    member,
    ...(signature === undefined ? {} : { signature, body: [...(body ?? [])] }),
  });
}

/** `(sv)` as the library needs it. */
function encodeProperty({ name, type, value }: UnitProperty): readonly [string, [string, unknown]] {
  return [name, [type, value]];
}
