import type { Alarms, Clock } from "../../src/kit/clock.ts";
import type { ApiTransport } from "../../src/outside/kube/kube.ts";
import type { Outside } from "../../src/outside/outside.ts";
import type { Logind } from "../../src/outside/systemd/logind.ts";

/** Life of one agent process: once over, nothing it asked for comes back and nothing it set goes off. */
export interface Life {
  readonly outside: Outside;
  /** A way to the API server that ends with the process. */
  lend(transport: ApiTransport): ApiTransport;
  /** `kill -9`: from here on the process does not take another step. */
  end(): void;
}

/** The world as one process sees it, until the process is killed. */
export function killable(world: Outside): Life {
  let alive = true;
  const isAlive = () => alive;
  const outside: Outside = {
    clock: killableClock(world.clock, isAlive),
    random: world.random,
    log: world.log,
    host: {
      files: {
        ...bindAll(world.host.files, isAlive),
        watchDirectory: (path, onChange, signal) =>
          world.host.files.watchDirectory(path, (events) => isAlive() && onChange(events), signal),
      },
      podFiles: bindAll(world.host.podFiles, isAlive),
      volumes: bindAll(world.host.volumes, isAlive),
      cgroups: bindAll(world.host.cgroups, isAlive),
      facts: () => forLiving(world.host.facts(), isAlive),
      addresses: () => world.host.addresses(),
      lookup: (name) => forLiving(world.host.lookup(name), isAlive),
      diskUsage: (path) => forLiving(world.host.diskUsage(path), isAlive),
      readKernel: (path) => world.host.readKernel(path),
      openFiles: (pid, known) => world.host.openFiles(pid, known),
      writeKernel: (path, value) => world.host.writeKernel(path, value),
      ...(world.host.logind ? { logind: killableLogind(world.host.logind, isAlive) } : {}),
      process: (pid) => forLiving(world.host.process(pid), isAlive),
      killProcess: (process) => forLiving(world.host.killProcess(process), isAlive),
    },
    cri: {
      runtime: {
        ...bindAll(world.cri.runtime, isAlive),
        events: (signal) => killableStream(world.cri.runtime.events(signal), isAlive),
      },
      images: bindAll(world.cri.images, isAlive),
    },
    net: bindAll(world.net, isAlive),
    // Its programs die by themselves, see `fake-grpc.ts`.
    ...(world.grpc ? { grpc: world.grpc } : {}),
  };
  return {
    outside,
    lend: (transport) => ({
      ...bindAll(transport, isAlive),
      reachable: transport.reachable,
      watch: async (request, signal) => {
        if (!isAlive()) return never();
        const reply = await forLiving(transport.watch(request, signal), isAlive);
        return reply.kind === "stream"
          ? { kind: "stream", lines: killableStream(reply.lines, isAlive) }
          : reply;
      },
    }),
    end: () => {
      alive = false;
    },
  };
}

/** Whoever was killed is not notified of a shutdown. */
function killableLogind(logind: Logind, isAlive: () => boolean): Logind {
  return {
    open: (onShutdown, signal) =>
      forLiving(
        logind.open((begins) => isAlive() && onShutdown(begins), signal),
        isAlive,
      ),
  };
}

/** A new one each time: what waits for a promise is kept as long as the promise. */
function never(): Promise<never> {
  return new Promise(() => {});
}

/** The answer, if whoever asked still lives when it comes. */
async function forLiving<T>(answer: Promise<T>, isAlive: () => boolean): Promise<T> {
  try {
    const value = await answer;
    return isAlive() ? value : never();
  } catch (error) {
    if (isAlive()) throw error;
    return never();
  }
}

/** Every method of `target`, its asynchronous answers only for the living. */
export function bindAll<T extends object>(target: T, isAlive: () => boolean): T {
  return new Proxy(target, {
    get: (object, name) => {
      const member: unknown = Reflect.get(object, name, object);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (!isAlive()) return never();
        const result: unknown = Reflect.apply(member, object, args);
        return result instanceof Promise ? forLiving(result, isAlive) : result;
      };
    },
    ownKeys: (object) => methodNames(object),
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
  });
}

/** Own and inherited names, so that spreading a class instance keeps its methods. */
function methodNames(object: object): string[] {
  const names = new Set(Object.keys(object));
  for (
    let at: object | null = Object.getPrototypeOf(object);
    at && at !== Object.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    for (const name of Object.getOwnPropertyNames(at)) if (name !== "constructor") names.add(name);
  }
  return [...names];
}

/** The clock of a process. */
export function killableClock(clock: Clock, isAlive: () => boolean): Clock {
  const alarmsOf = (alarms: Alarms): Alarms => ({
    alarm: (delayMs, fire) =>
      isAlive() ? alarms.alarm(delayMs, () => isAlive() && fire()) : () => {},
    sleep: (ms, signal) => (isAlive() ? forLiving(alarms.sleep(ms, signal), isAlive) : never()),
  });
  return {
    monotonic: () => clock.monotonic(),
    wall: () => clock.wall(),
    ...alarmsOf(clock),
    coalesced: { ...alarmsOf(clock.coalesced), delayMs: (ms) => clock.coalesced.delayMs(ms) },
  };
}

async function* killableStream<T>(
  stream: AsyncIterable<T>,
  isAlive: () => boolean,
): AsyncIterable<T> {
  for await (const item of stream) {
    if (!isAlive()) await never();
    yield item;
  }
  if (!isAlive()) await never();
}
