import type { CoreEvent } from "../../src/api/generated/types.ts";
import {
  type EventApi,
  EventApiError,
  type EventApiFault,
  type EventName,
  type EventPatch,
} from "../../src/subsystems/events/events.ts";

/** What a request of the sink does: goes through, fails, or arrives while its answer is lost. */
export type Answer =
  | { readonly kind: "ok" }
  | { readonly kind: "fault"; readonly fault: EventApiFault }
  | { readonly kind: "answerLost" }
  /** Arrives, and has no answer until the sink ends the request. */
  | { readonly kind: "answerHangs" };

/** One request that came. */
export interface EventRequest {
  readonly verb: "create" | "patch";
  readonly key: string;
  readonly event: CoreEvent | undefined;
  readonly patch: EventPatch | undefined;
  readonly answer: Answer["kind"];
}

const OK: Answer = { kind: "ok" };

/** No answer at all. */
export const AWAY: Answer = { kind: "fault", fault: { kind: "transport" } };

/** A refusal of the server. */
export function refusal(status: number, reason = "", causes: readonly string[] = []): Answer {
  return { kind: "fault", fault: { kind: "status", status, reason, causes } };
}

/** Events as an API server keeps them: names are unique, a patch needs something to change. */
export class FakeEventApi implements EventApi {
  readonly stored = new Map<string, CoreEvent>();
  readonly requests: EventRequest[] = [];
  /** Asked what becomes of each request. */
  answer: (request: Omit<EventRequest, "answer">) => Answer = () => OK;
  #version = 0;

  /** `verb reason count` of every request that went through, in order. */
  get writes(): readonly string[] {
    return this.requests
      .filter(({ answer }) => answer === "ok")
      .map(({ verb, key, patch }) => {
        const { reason, count } = this.stored.get(key) ?? {};
        return verb === "create" ? `create ${reason}` : `patch ${reason} ${patch?.count ?? count}`;
      });
  }

  async create(event: CoreEvent, signal: AbortSignal): Promise<CoreEvent> {
    const key = `${event.metadata.namespace}/${event.metadata.name}`;
    return await this.#request({ verb: "create", key, event, patch: undefined }, signal, () => {
      if (event.metadata.resourceVersion !== undefined)
        throw failed(400, "BadRequest", "resourceVersion should not be set");
      if (this.stored.has(key)) throw failed(409, "AlreadyExists", `${key} exists`);
      return event;
    });
  }

  async patch(
    { namespace, name }: EventName,
    patch: EventPatch,
    signal: AbortSignal,
  ): Promise<CoreEvent> {
    const key = `${namespace}/${name}`;
    return await this.#request({ verb: "patch", key, event: undefined, patch }, signal, () => {
      const before = this.stored.get(key);
      if (!before) throw failed(404, "NotFound", `${key} is not there`);
      return { ...before, ...patch };
    });
  }

  async #request(
    request: Omit<EventRequest, "answer">,
    signal: AbortSignal,
    make: () => CoreEvent,
  ): Promise<CoreEvent> {
    const answer = this.answer(request);
    this.requests.push({ ...request, answer: answer.kind });
    if (answer.kind === "fault")
      throw new EventApiError(answer.fault, "fails by request of the test");
    this.#version += 1;
    const made = make();
    const resourceVersion = `${this.#version}`;
    const stored = { ...made, metadata: { ...made.metadata, resourceVersion } };
    this.stored.set(request.key, stored);
    if (answer.kind === "answerLost")
      throw new EventApiError({ kind: "transport" }, "the connection broke");
    if (answer.kind === "answerHangs")
      await new Promise((_, fail) => {
        signal.onabort = fail;
      });
    return stored;
  }
}

function failed(status: number, reason: string, message: string): EventApiError {
  return new EventApiError({ kind: "status", status, reason }, message);
}
