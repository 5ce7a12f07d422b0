// Compiles functions of a program without running it, and writes V8's code cache of it to the standard output:
//   node compile.mjs dist/agent.cjs <ranges.json
// All functions in these ranges of the program are compiled. Nothing else happens in this process, so that it writes the same bytes each time.
import { readFileSync, writeSync } from "node:fs";
import { Session } from "node:inspector";
import { basename } from "node:path";
import { setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { scriptOptions, wrappedText } from "./program-text.mjs";

function compile(path, ranges) {
  // What was compiled must not be dropped before it is written.
  setFlagsFromString("--no-flush-bytecode");
  // The cache holds it, and must not depend on where it was made; whoever loads the program gives it its own.
  const name = basename(path);
  const session = new Session();
  session.connect();
  let scriptId;
  session.on("Debugger.scriptParsed", ({ params }) => {
    if (params.url === name) scriptId = params.scriptId;
  });
  ask(session, "Debugger.enable");
  const script = new Script(wrappedText(readFileSync(path)), scriptOptions(name));
  // Makes the function around the program, and does not call it: V8 reports scripts only when they run.
  script.runInThisContext();
  // To know where a program may stop, V8 compiles what stands there.
  for (const { start, end } of ranges)
    ask(session, "Debugger.getPossibleBreakpoints", {
      start: { scriptId, ...start },
      ...(end && { end: { scriptId, ...end } }),
    });
  session.disconnect();
  // A cache is for the flags with which it is written.
  setFlagsFromString("--flush-bytecode");
  return script.createCachedData();
}

function ask(session, method, params) {
  session.post(method, params, (error) => {
    if (error) throw new Error(`${method}: ${error.message}`);
  });
}

const cache = compile(process.argv[2], JSON.parse(readFileSync(0, "utf8")));
for (let written = 0; written < cache.length; ) written += writeSync(1, cache.subarray(written));
