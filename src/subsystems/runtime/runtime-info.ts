import type { RuntimeService, StatusResponse, VersionResponse } from "../../outside/cri/cri.ts";

/** Status and version of the runtime. */
interface RuntimeInfo {
  readonly status: StatusResponse;
  readonly version: VersionResponse;
}

/** Status and version of the runtime, requested once and again after `forget`. */
export class RuntimeInfoCache {
  readonly #runtime: Pick<RuntimeService, "status" | "version">;
  #known: RuntimeInfo | undefined;
  /** Calls of `forget`: an answer from before the last one is not kept. */
  #forgotten = 0;

  constructor(runtime: Pick<RuntimeService, "status" | "version">) {
    this.#runtime = runtime;
  }

  /** The runtime may have been restarted, or replaced by another version. */
  forget(): void {
    this.#known = undefined;
    this.#forgotten += 1;
  }

  async get(signal: AbortSignal): Promise<RuntimeInfo> {
    if (this.#known) return this.#known;
    const asked = this.#forgotten;
    const status = await this.#runtime.status(signal);
    const info = { status, version: await this.#runtime.version(signal) };
    if (asked === this.#forgotten) this.#known = info;
    return info;
  }
}
