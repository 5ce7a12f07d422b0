// What the suite of kube-contract.ts is made with.
import type { Pod } from "../../src/api/generated/types.ts";
import type { Clock } from "../../src/kit/clock.ts";
import { ApiError, type ApiTransport, type ObjectChange } from "../../src/outside/kube/kube.ts";

/** A server to be examined; requests come from an administrator. */
export interface KubeUnderTest {
  readonly transport: ApiTransport;
  readonly clock?: Clock;
  /** Breaks all connections. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

/** Where the suite's objects are. */
export const NAMESPACE = "default";
/** Never aborted. */
export const NEVER = new AbortController().signal;
/** Place of an object of the suite. */
export const at = (name: string, subresource?: string) => ({
  namespace: NAMESPACE,
  name,
  ...(subresource === undefined ? {} : { subresource }),
});

/** A pod that nobody runs. */
export function pod(name: string, nodeName?: string): Pod {
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      containers: [{ name: "main", image: "example/image:1" }],
      ...(nodeName === undefined ? {} : { nodeName }),
    },
  };
}

/** What the server refused with. */
export async function refusal(work: Promise<unknown>): Promise<ApiError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("was not refused");
}

/** The next changes that `test` holds for; fails when they do not come. */
export class Changes<T> {
  readonly #changes: AsyncGenerator<ObjectChange<T>, never>;
  readonly leave: AbortController;

  constructor(changes: AsyncGenerator<ObjectChange<T>, never>, leave: AbortController) {
    this.#changes = changes;
    this.leave = leave;
  }

  async next(): Promise<ObjectChange<T>> {
    const timer = setTimeout(() => this.leave.abort(new Error("no change came")), 20_000);
    try {
      return (await this.#changes.next()).value;
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.leave.abort(new Error("enough"));
    await this.#changes.return(undefined as never).catch(() => {});
  }
}

/** Status of a container that is being made. */
export function status1(name: string) {
  return {
    name,
    image: "example/image:1",
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { waiting: { reason: "ContainerCreating" } },
  };
}
