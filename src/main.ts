import { runAgent } from "./cli/run.ts";

process.exitCode = await runAgent(process.argv.slice(2));
