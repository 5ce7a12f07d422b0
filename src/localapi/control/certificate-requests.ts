/** Forgets requests for certificates of pods: agents have taken the answer, or ask anew. */
import { parseTimestamp } from "../../api/timestamps.ts";
import { POD_CERTIFICATE_REQUESTS } from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import type { Duty } from "./duties.ts";

const EVERY_MS = 60_000;
/** As old a request may become (PCRCleanerController). */
const OLD_MS = 30 * 60_000;

/** See the head of this file. */
export function certificateRequestDuty({ store, clock }: ObjectsCore): Duty {
  return {
    name: "local API: requests for certificates of pods",
    everyMs: EVERY_MS,
    plan: () =>
      store.list(POD_CERTIFICATE_REQUESTS.collection).flatMap((object) => {
        const made = parseTimestamp(object.metadata.creationTimestamp ?? "") ?? 0;
        if (clock.wall() - made <= OLD_MS) return [];
        return [() => void store.remove(POD_CERTIFICATE_REQUESTS.collection, object)];
      }),
  };
}
