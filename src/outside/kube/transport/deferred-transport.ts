import { Cell, type Reading } from "../../../kit/cell.ts";
import { OutsideError } from "../../../kit/errors.ts";
import type {
  ApiReply,
  ApiRequest,
  ApiTransport,
  ApiWatchReply,
  ApiWatchRequest,
} from "./transport.ts";

/**
 * A way to an API server that is not there yet: until the real transport is provided, every request is
 * `unavailable` with the reason, as with a server that cannot be reached.
 */
export class DeferredTransport implements ApiTransport {
  readonly #reason: () => string;
  readonly #reachable = new Cell(false);
  #inner: ApiTransport | undefined;
  #isClosed = false;

  constructor(reason: () => string) {
    this.#reason = reason;
  }

  get reachable(): Reading<boolean> {
    return this.#reachable;
  }

  get host(): string | undefined {
    return this.#inner?.host;
  }

  /** From now on requests go this way. To be called once. */
  provide(inner: ApiTransport): void {
    if (this.#isClosed) {
      inner.close();
      return;
    }
    this.#inner = inner;
    this.#reachable.set(inner.reachable.get());
    inner.reachable.subscribe((reachable) => this.#reachable.set(reachable));
  }

  async request(request: ApiRequest, signal: AbortSignal): Promise<ApiReply> {
    return await this.#provided().request(request, signal);
  }

  async watch(request: ApiWatchRequest, signal: AbortSignal): Promise<ApiWatchReply> {
    return await this.#provided().watch(request, signal);
  }

  close(): void {
    this.#isClosed = true;
    this.#inner?.close();
  }

  #provided(): ApiTransport {
    if (this.#inner) return this.#inner;
    throw new OutsideError("unavailable", this.#reason());
  }
}
