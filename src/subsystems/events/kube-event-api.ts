import type { CoreEvent } from "../../api/generated/types.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { EVENTS, isApiError, type KubeClient } from "../../outside/kube/kube.ts";
import { type EventApi, EventApiError, type EventApiFault } from "./event-api.ts";

/** Events by way of a client of the API. The sink keeps the rate, so the client needs no limit of its own. */
export function kubeEventApi(client: Pick<KubeClient, "create" | "patch">): EventApi {
  return {
    create: (event, signal) => {
      const { namespace = "" } = event.metadata;
      return answered(() => client.create(EVENTS, { namespace }, event, signal));
    },
    patch: ({ namespace, name }, body, signal) =>
      answered(() =>
        client.patch(EVENTS, { namespace, name }, { kind: "strategic", body }, signal),
      ),
  };
}

async function answered(call: () => Promise<CoreEvent>): Promise<CoreEvent> {
  let event: CoreEvent;
  try {
    event = await call();
  } catch (error) {
    throw new EventApiError(faultFrom(error), messageOf(error), { cause: error });
  }
  if (event.kind === "Event" && typeof event.metadata?.name === "string") return event;
  throw new EventApiError({ kind: "unexpectedObject" }, "the API server's answer is not an event");
}

function faultFrom(error: unknown): EventApiFault {
  if (isApiError(error)) {
    const { statusCode, reason, retryAfterSeconds, status } = error;
    return {
      kind: "status",
      status: statusCode,
      reason,
      causes: (status.details?.causes ?? []).flatMap((cause) => cause.reason ?? []),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterMs: retryAfterSeconds * 1000 }),
    };
  }
  if (isOutside(error, "invalid")) return { kind: "unexpectedObject" };
  return { kind: isOutside(error) ? "transport" : "construct" };
}
