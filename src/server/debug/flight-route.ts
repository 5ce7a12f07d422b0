import type { Clock } from "../../kit/clock.ts";
import {
  type EncodedStep,
  FLIGHT_FORMAT,
  type FlightNote,
  type FlightStep,
  flightLines,
  type KeptStep,
  newestWithin,
} from "../../pipeline/pods/flight/flight.ts";
import { encodeLine, Redactor } from "../../pipeline/pods/flight/flight-text.ts";
import type { Call } from "../call.ts";
import type { ServedNode } from "../served-node.ts";

/** Longest recording, in characters; what would exceed it is left out, the oldest steps first. */
const MAX_LENGTH = 32 * 1024 * 1024;
/** Decisions and events that go with a recording, the newest of each. */
const MAX_NOTES = 2_000;
/** Steps after which the agent does other things before it goes on. */
const STEPS_AT_ONCE = 100;

/** `GET record`: the last minutes as one file, without secrets; see docs/record.md. */
export async function replyRecord(call: Call, node: ServedNode, clock: Clock): Promise<void> {
  const { flight } = node.pipeline;
  const redactor = new Redactor();
  const kept = flight.steps();
  // Events and decisions may repeat what pods were given.
  for (const pod of podsOf(node, kept)) redactor.learn(pod);
  const encode = (line: FlightStep | FlightNote) => encodeLine(line, redactor);
  const notes = (await notesOf(node)).map(encode);
  const spent = notes.reduce((sum, note) => sum + note.length, 0);
  const encoded: EncodedStep[] = [];
  for (const one of newestWithin(kept, MAX_LENGTH - spent, encode)) {
    encoded.push(one);
    if (encoded.length % STEPS_AT_ONCE === 0) await clock.sleep(0, call.signal);
  }
  encoded.reverse();
  const stream = call.exchange.replyStream(200, { "content-type": "application/x-ndjson" });
  const header = {
    kind: "header",
    format: FLIGHT_FORMAT,
    node: node.nodeName,
    version: node.versions.nodelet,
    atMs: clock.wall(),
    dropped: flight.dropped + kept.length - encoded.length,
  } as const;
  await stream.write(encodeLine(header, redactor));
  for (const line of flightLines(encoded, encode)) await stream.write(line);
  for (const note of notes) await stream.write(note);
  await stream.end();
}

/** Every pod that is known, and that was known at a step; each definition once. */
function podsOf({ pipeline }: ServedNode, kept: readonly KeptStep[]): ReadonlySet<unknown> {
  const records = [...pipeline.pods.list(), ...kept.map(({ before }) => before)];
  return new Set(records.flatMap(({ pod, desired }) => [pod, desired.pod]));
}

async function notesOf({ subsystems, pipeline }: ServedNode): Promise<readonly FlightNote[]> {
  const decisions = await subsystems.journal.read({ limit: MAX_NOTES });
  return [
    ...decisions.map((of) => ({ kind: "decision", of }) as const),
    ...subsystems.events
      .list()
      .slice(-MAX_NOTES)
      .map((of) => ({ kind: "event", of }) as const),
    ...pipeline.statuses.list().map((of) => ({ kind: "status", of }) as const),
  ];
}
