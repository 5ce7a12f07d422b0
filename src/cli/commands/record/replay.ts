import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { messageOf } from "../../../kit/errors.ts";
import type { Flight } from "../../../pipeline/pods/flight/flight.ts";
import { decodeFlight } from "../../../pipeline/pods/flight/flight-text.ts";
import { type ReplayedStep, replayFlight } from "../../../pipeline/pods/flight/replay.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_FAILURE } from "../../../present/exit-codes.ts";
import type { CliContext } from "../../context.ts";
import { writeLines } from "../../io.ts";

interface ReplayOptions {
  readonly pod?: string;
  readonly all?: boolean;
}

/** Departures that are shown; the first is what matters. */
const MAX_SHOWN_DEPARTURES = 10;

/** `nodelet replay`. */
export function addReplayCommand(program: Command, context: CliContext): void {
  program
    .command("replay")
    .summary("play a recording through the decision functions of this version")
    .description(
      "Plays a recording of `nodelet record dump` through the functions that decide about pods, and shows " +
        "what they decide at each step and why. The exit code is 1 where this version decides otherwise than " +
        "the agent that was recorded, and the step at which it departs is shown.",
    )
    .argument("<file>", "the recording")
    .option("--pod <namespace/name>", "show only the steps of this pod")
    .option("--all", "also show steps at which nothing was decided")
    .addHelpText("after", EXAMPLES)
    .action((file: string, options: ReplayOptions) => {
      replay(readRecording(resolve(context.io.cwd, file)), options, context);
    });
}

const EXAMPLES = `
Examples:
  nodelet replay node.jsonl
  nodelet replay node.jsonl --pod default/web --all
`;

function readRecording(path: string): Flight {
  try {
    return decodeFlight(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new CliError(`${path}: ${messageOf(cause)}`, {
      fix: "name a file that nodelet record dump has written",
      cause,
    });
  }
}

function replay(
  { header, steps }: Flight,
  options: ReplayOptions,
  { io, finish }: CliContext,
): void {
  const departures: ReplayedStep[] = [];
  const pods = new Set<string>();
  let played = 0;
  for (const step of replayFlight(steps)) {
    played += 1;
    pods.add(step.pod);
    if (step.departure) departures.push(step);
    const isShown = options.all || step.decided.length > 0 || step.departure !== undefined;
    if (isShown && (options.pod === undefined || options.pod === step.pod))
      writeLines(io.stdout, stepLines(step));
  }
  const of = `${played} steps of ${pods.size} ${pods.size === 1 ? "pod" : "pods"} of ${header.node}`;
  if (departures.length === 0) {
    writeLines(io.stdout, [`${of}: all decided as recorded.`]);
    return;
  }
  const shown = departures.slice(0, MAX_SHOWN_DEPARTURES);
  writeLines(io.stdout, [
    `${of}: ${departures.length} decided otherwise than recorded:`,
    ...shown.map(({ number, pod, input }) => `  step ${number}, ${pod}, ${input}`),
  ]);
  finish(EXIT_FAILURE);
}

/** `16:10:35.120  default/web  plan  startContainer: startContainer web (container exited)`. */
function stepLines({ atMs, pod, input, decided, departure }: ReplayedStep): readonly string[] {
  const time = new Date(atMs).toISOString().slice(11, 23);
  const head = `${time}  ${pod}  ${input}`;
  const [first = "", ...more] = decided;
  return [
    first === "" ? head : `${head}  ${first}`,
    ...more.map((text) => `              ${text}`),
    ...(departure
      ? [
          `  departs from the recording at ${departure.path}`,
          `    recorded: ${departure.recorded}`,
          `    now:      ${departure.replayed}`,
        ]
      : []),
  ];
}
