import { Journal } from "../../subsystems/journal/journal.ts";
import type { Foundation } from "../foundation.ts";

const SEGMENT_BYTES = 1024 * 1024;
const SEGMENTS = 4;

/** The journal of decisions. */
export async function assembleJournal({
  options,
  outside,
  scope,
  state,
}: Foundation): Promise<Journal> {
  const journal = new Journal(
    {
      folder: `${options.rootFolder}/nodelet/journal`,
      segmentBytes: SEGMENT_BYTES,
      segments: SEGMENTS,
    },
    { state, clock: outside.clock },
  );
  await journal.open();
  scope.defer("journal", () => journal.flush());
  return journal;
}
