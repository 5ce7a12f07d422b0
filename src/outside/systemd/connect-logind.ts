import type { Message, MessageBus } from "dbus-native";
import { untilAborted } from "../../kit/within.ts";
import { holdWith } from "../hold-with.ts";
import type { Logind, LogindSession } from "./logind.ts";
import { systemdError } from "./systemd-error.ts";

/** Address of logind. */
interface LogindOptions {
  /** D-Bus spelling; the machine's system bus when left out. */
  readonly address?: string;
}

const SYSTEM_BUS = "unix:path=/run/dbus/system_bus_socket";
const NAME = "org.freedesktop.login1";
const PATH = "/org/freedesktop/login1";
const MANAGER = "org.freedesktop.login1.Manager";
const PROPERTIES = "org.freedesktop.DBus.Properties";
/** From any sender, as for the Go kubelet: Kubernetes' suite and administrators rehearse a shutdown by this signal. */
const SHUTDOWN_SIGNALS = `type='signal',path='${PATH}',interface='${MANAGER}',member='PrepareForShutdown'`;
const SYSTEMD_NAME = "org.freedesktop.systemd1";
const SYSTEMD_PATH = "/org/freedesktop/systemd1";
const LOGIND_UNIT = "systemd-logind.service";
const SIGHUP = 1;
const SIGNAL_TYPE = 4;
const CALL_TIMEOUT_MS = 10_000;
const MICROS_PER_MS = 1000n;

/** logind of this machine. */
export function connectLogind({ address }: LogindOptions = {}): Logind {
  const at = address ?? process.env["DBUS_SYSTEM_BUS_ADDRESS"] ?? SYSTEM_BUS;
  return {
    open: async (onShutdown, signal) => {
      signal.throwIfAborted();
      try {
        return await untilAborted(openSession(at, onShutdown), signal);
      } catch (thrown) {
        if (signal.aborted) throw thrown;
        throw systemdError(`connect to logind at ${at}`, thrown);
      }
    },
  };
}

async function openSession(
  address: string,
  onShutdown: (begins: boolean) => void,
): Promise<LogindSession> {
  // Only machines whose shutdown waits for pods pay for the library.
  const { createClient } = await import("dbus-native");
  const bus = createClient({
    busAddress: address,
    authMethods: ["EXTERNAL"],
    timeout: CALL_TIMEOUT_MS,
  });
  const closed = new Promise<void>((resolve) => bus.connection.on("close", () => resolve()));
  const broken = new Promise<never>((_, reject) => bus.connection.on("error", reject));
  broken.catch(() => {});
  bus.connection.on("message", (message) => {
    const begins = shutdownOf(message);
    if (begins !== undefined) onShutdown(begins);
  });
  const session = sessionOf(bus, address, closed);
  try {
    await Promise.race([broken, bus.addMatch(SHUTDOWN_SIGNALS)]);
    await Promise.race([broken, session.inhibitDelayMs()]);
    return session;
  } catch (thrown) {
    void bus.close();
    throw thrown;
  }
}

function sessionOf(bus: MessageBus, address: string, closed: Promise<void>): LogindSession {
  return {
    closed,
    inhibitDelayMs: async () =>
      Number(BigInt(await readProperty<bigint>(bus, "InhibitDelayMaxUSec")) / MICROS_PER_MS),
    isPreparingForShutdown: () => readProperty<boolean>(bus, "PreparingForShutdown"),
    reload: async () => {
      try {
        await bus.invoke({
          destination: SYSTEMD_NAME,
          path: SYSTEMD_PATH,
          interface: `${SYSTEMD_NAME}.Manager`,
          member: "KillUnit",
          signature: "ssi",
          body: [LOGIND_UNIT, "all", SIGHUP],
        });
      } catch (thrown) {
        throw systemdError("have logind read its configuration", thrown);
      }
    },
    // logind hands a lock out as a file descriptor over D-Bus, which JavaScript cannot receive; the program can.
    inhibit: (who, why, signal) =>
      holdWith(
        {
          path: "systemd-inhibit",
          args: ["--what=shutdown", "--mode=delay", `--who=${who}`, `--why=${why}`],
          env: { DBUS_SYSTEM_BUS_ADDRESS: address },
          action: "take an inhibitor lock of logind",
          from: "systemd",
        },
        signal,
      ),
    close: async () => {
      await bus.close();
    },
  };
}

async function readProperty<T>(bus: MessageBus, name: string): Promise<T> {
  try {
    return await bus.invoke<T>({
      destination: NAME,
      path: PATH,
      interface: PROPERTIES,
      member: "Get",
      signature: "ss",
      body: [MANAGER, name],
    });
  } catch (thrown) {
    throw systemdError(`read ${name} of logind`, thrown);
  }
}

function shutdownOf({ type, interface: of, member, body }: Message): boolean | undefined {
  if (type !== SIGNAL_TYPE || of !== MANAGER || member !== "PrepareForShutdown") return undefined;
  const [begins] = body ?? [];
  return typeof begins === "boolean" ? begins : undefined;
}
