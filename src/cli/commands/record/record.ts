import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { type CliContext, clientOf, withSocketOption } from "../../context.ts";
import { withOutputFile } from "../../local-images/output-file.ts";

interface DumpOptions {
  readonly output?: string;
  readonly socket?: string;
}

const ROUTE = "/nodelet/v1/record";

/** `nodelet record dump`. */
export function addRecordCommand(program: Command, context: CliContext): void {
  const command = program
    .command("record")
    .summary("save what the agent saw and decided in the last minutes")
    .description(
      "The agent keeps the last ten minutes of what it saw and decided, at most 5000 steps, in memory.",
    );
  const dump = command
    .command("dump")
    .summary("write the recording to a file")
    .description(
      "Writes the recording as lines of JSON, at most 32 MiB, with the journal, events and statuses. " +
        "Environment variables, commands, annotations and the like are replaced by <redacted>.",
    )
    .option("-o, --output <file>", "file to write; default standard output");
  withSocketOption(dump)
    .addHelpText("after", EXAMPLES)
    .action((options: DumpOptions) => dumpRecording(options, context));
}

const EXAMPLES = `
Examples:
  sudo nodelet record dump -o node.jsonl
  nodelet replay node.jsonl
`;

async function dumpRecording(options: DumpOptions, context: CliContext): Promise<void> {
  const { io, onInterrupt } = context;
  const recording = await clientOf(context, options).open(ROUTE, onInterrupt());
  if (options.output === undefined) return await pipeline(recording, io.stdout, { end: false });
  await withOutputFile(resolve(io.cwd, options.output), (output) => pipeline(recording, output));
}
