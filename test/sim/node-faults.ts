// Faults of the machine below an agent: what its files, its runtime, its network and its API server do while they last.
import { OutsideError } from "../../src/kit/errors.ts";
import { untilAborted } from "../../src/kit/within.ts";
import type { ContainerRuntime } from "../../src/outside/cri/cri.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import type { Fault } from "./fake-files.ts";
import type { World } from "./world.ts";

/** Folders on the disk that fails: state, volumes and logs of the agent. */
const ON_DISK = /^\/var\//;
const WRITES: ReadonlySet<string> = new Set([
  "writeAtomic",
  "append",
  "makeDirectory",
  "link",
  "writePayload",
]);
const CHANGES: ReadonlySet<string> = new Set([...WRITES, "rename", "remove", "removeTree"]);
/** Calls on files that open no descriptor. */
const WITHOUT_DESCRIPTOR: ReadonlySet<string> = new Set([
  "facts",
  "makeDirectory",
  "link",
  "rename",
  "remove",
]);
/** As the client of the runtime waits at most (`runtimeRequestTimeout`). */
const RUNTIME_LIMIT_MS = 120_000;
/** What one packet that is lost costs at worst: it is sent again after 1, 3 and 7 seconds. */
const LOSS_MS = 7_000;

/** A fault that files of a disk, or all that needs a descriptor, have. */
function filesThat(
  fails: (operation: string, path: string) => boolean,
  error: OutsideError,
): Fault {
  return (operation, path) => (fails(operation, path) ? error : undefined);
}

const FULL = new OutsideError("exhausted", "write: no space left on device (ENOSPC)");
const NO_DESCRIPTORS = new OutsideError("exhausted", "open: EMFILE");
const IO_ERROR = new OutsideError("io", "EIO");
const READ_ONLY = new OutsideError("denied", "EROFS");

/** Faults by name. */
export type FaultName =
  | "ENOSPC"
  | "EMFILE"
  | "EIO"
  | "slow disk"
  | "read-only remount"
  | "containerd hanging"
  | "API server hanging"
  | "half-open connections"
  | "1 % packet loss"
  | "clock that jumps";

/** What an agent stands on, to be made before the agent is started in the world. */
export class NodeFaults {
  readonly #world: World;
  readonly #api: FakeApiServer;
  /** Pause before each call on files. */
  #fileDelayMs = 0;
  /** Ends with the fault; what is asked meanwhile waits for it. */
  #runtimeHangs: PromiseWithResolvers<void> | undefined;
  #apiHangs: PromiseWithResolvers<void> | undefined;
  /** Connections to the API that were there when the peer went away without a word. */
  #generation = 0;
  #isUnreachable = false;

  constructor(world: World, api: FakeApiServer) {
    this.#world = world;
    this.#api = api;
    world.around = (cri) => this.#hanging(cri);
    this.#delayFiles();
    this.#holdApi();
  }

  /** Lets a fault begin. */
  begin(name: FaultName): void {
    const world = this.#world;
    world.note(`fault begins: ${name}`);
    const onDisk = (operations: ReadonlySet<string>) => (operation: string, path: string) =>
      ON_DISK.test(path) && operations.has(operation);
    switch (name) {
      case "ENOSPC":
        world.fault = filesThat(onDisk(WRITES), FULL);
        return;
      case "EMFILE":
        world.fault = filesThat((operation) => !WITHOUT_DESCRIPTOR.has(operation), NO_DESCRIPTORS);
        this.#refuseSockets();
        return;
      case "EIO":
        world.fault = filesThat((_, path) => ON_DISK.test(path), IO_ERROR);
        return;
      case "slow disk":
        this.#fileDelayMs = 12_000;
        return;
      case "read-only remount":
        world.fault = filesThat(onDisk(CHANGES), READ_ONLY);
        return;
      case "containerd hanging":
        this.#runtimeHangs = Promise.withResolvers();
        return;
      case "API server hanging":
        this.#apiHangs = Promise.withResolvers();
        return;
      case "half-open connections":
        this.#generation += 1;
        this.#isUnreachable = true;
        return;
      case "1 % packet loss":
        Object.assign(this.#api.options, { latencyMs: LOSS_MS, faults: 0.01, lateFaults: 0.01 });
        return;
      case "clock that jumps":
        world.clock.stepWall(3_600_000);
        return;
      default:
        name satisfies never;
    }
  }

  /** All is well again. What hung is answered, also where nobody waits any more. */
  end(name: FaultName): void {
    const world = this.#world;
    world.note(`fault ends: ${name}`);
    world.fault = () => undefined;
    this.#fileDelayMs = 0;
    this.#runtimeHangs?.resolve();
    this.#runtimeHangs = undefined;
    this.#apiHangs?.resolve();
    this.#apiHangs = undefined;
    this.#isUnreachable = false;
    this.#sockets?.();
    Object.assign(this.#api.options, { latencyMs: 2, faults: 0, lateFaults: 0 });
    if (name === "clock that jumps") world.clock.stepWall(-3_600_000);
  }

  #sockets: (() => void) | undefined;

  #refuseSockets(): void {
    const { net } = this.#world;
    const before = { ...net };
    const refuse = () => Promise.reject(new OutsideError("exhausted", "connect: EMFILE"));
    Object.assign(net, { http: refuse, tcpConnect: refuse, grpcHealth: refuse });
    this.#sockets = () => {
      Object.assign(net, before);
      this.#sockets = undefined;
    };
  }

  /** A runtime that was stopped goes on with what it was asked meanwhile, whoever still waits for it. */
  #hanging({ runtime, images }: ContainerRuntime): ContainerRuntime {
    const wrap = <T extends object>(service: T): T =>
      Object.fromEntries(
        Object.entries(service).map(([name, call]) => [
          name,
          name === "events" ? call : this.#held(call as (...args: never[]) => Promise<unknown>),
        ]),
      ) as T;
    return { runtime: wrap(runtime), images: wrap(images) };
  }

  #held(call: (...args: never[]) => Promise<unknown>) {
    const { clock } = this.#world;
    return async (...args: never[]): Promise<unknown> => {
      const hangs = this.#runtimeHangs;
      if (hangs === undefined) return await call(...args);
      const signal = args.at(-1) as unknown as AbortSignal;
      const { promise: late, reject } = Promise.withResolvers<never>();
      const cancel = clock.alarm(RUNTIME_LIMIT_MS, () =>
        reject(new OutsideError("deadline", "context deadline exceeded")),
      );
      const unheard = [...args.slice(0, -1), new AbortController().signal] as never[];
      const done = hangs.promise.then(() => call(...unheard));
      done.catch(() => {});
      late.catch(() => {});
      try {
        return await untilAborted(Promise.race([done, late]), signal);
      } finally {
        cancel();
      }
    };
  }

  #delayFiles(): void {
    const { clock, host } = this.#world;
    const files = host.files as unknown as Record<string, (...args: never[]) => Promise<unknown>>;
    const never = new AbortController().signal;
    const names = ["readText", "readTail", "append", "list", "facts", "remove", "rename"];
    for (const name of [...names, "writeAtomic", "makeDirectory", "removeTree", "link"]) {
      const call = files[name]?.bind(files);
      if (!call) throw new Error(`files have no ${name}`);
      files[name] = async (...args: never[]) => {
        const [first, second] = args as unknown as [string, string];
        const path = name === "readTail" ? `${first}/${second}` : first;
        if (this.#fileDelayMs > 0 && ON_DISK.test(path))
          await clock.sleep(this.#fileDelayMs, never);
        return await call(...args);
      };
    }
  }

  #holdApi(): void {
    const api = this.#api;
    const request = api.request.bind(api);
    const watch = api.watch.bind(api);
    const unreachable = () => new OutsideError("deadline", "no connection in time");
    api.request = async (asked, signal) => {
      if (this.#isUnreachable) {
        await this.#world.clock.sleep(asked.timeoutMs, signal);
        throw unreachable();
      }
      if (!this.#apiHangs) return await request(asked, signal);
      // Taken, and carried out when the server goes on.
      const done = this.#apiHangs.promise.then(() => request(asked, new AbortController().signal));
      done.catch(() => {});
      return await Promise.race([
        untilAborted(done, signal),
        this.#world.clock.sleep(asked.timeoutMs, signal).then(() => {
          throw unreachable();
        }),
      ]);
    };
    api.watch = async (asked, signal) => {
      if (this.#isUnreachable || this.#apiHangs) {
        await this.#world.clock.sleep(asked.timeoutMs, signal);
        throw unreachable();
      }
      const reply = await watch(asked, signal);
      if (reply.kind !== "stream") return reply;
      return { ...reply, lines: this.#linesOf(reply.lines, signal, asked.lifetimeMs) };
    };
  }

  /** Lines that stop with the server, and for ever with a peer that is gone; the client gives up after its time. */
  async *#linesOf(
    lines: AsyncIterable<string>,
    signal: AbortSignal,
    lifetimeMs: number,
  ): AsyncGenerator<string, void> {
    const generation = this.#generation;
    const { clock } = this.#world;
    const over = clock.monotonic() + lifetimeMs;
    for await (const line of lines) {
      if (this.#apiHangs) await untilAborted(this.#apiHangs.promise, signal);
      if (generation !== this.#generation) {
        await clock.sleep(Math.max(0, over - clock.monotonic()), signal);
        throw new OutsideError("deadline", "the watch went on for too long");
      }
      yield line;
    }
  }
}
