/** Forgets requests for certificates of pods: agents have taken the answer, or ask again. */
import { parseTimestamp } from "../../api/text/timestamps.ts";
import { POD_CERTIFICATE_REQUEST_KIND } from "../kinds/catalog.ts";
import type { ObjectsCore } from "../objects/core.ts";
import { type Controller, stepsForEach } from "./controllers.ts";

const EVERY_MS = 60_000;
/** As old a request may become (PCRCleanerController). */
const OLD_MS = 30 * 60_000;

/** See the head of this file. */
export function certificateRequestController(core: ObjectsCore): Controller {
  const { store, clock } = core;
  return {
    name: "local API: requests for certificates of pods",
    everyMs: EVERY_MS,
    plan: () =>
      stepsForEach(core, store.list(POD_CERTIFICATE_REQUEST_KIND.collection), (object) => {
        const made = parseTimestamp(object.metadata.creationTimestamp ?? "") ?? 0;
        if (clock.wall() - made <= OLD_MS) return [];
        return [() => void store.remove(POD_CERTIFICATE_REQUEST_KIND.collection, object)];
      }),
  };
}
