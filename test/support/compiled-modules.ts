import { execFileSync } from "node:child_process";

/** Names Node's own modules that V8 compiled, instead of taking the compiled code that Node brings. */
const PROGRAM = `
  for (const name of ["crypto", "http2", "https", "worker_threads"]) require(name);
  const { internalBinding } = require("internal/test/binding");
  const { compiledWithoutCache } = internalBinding("builtins").getCacheUsage();
  console.log(JSON.stringify([...compiledWithoutCache]));
`;

/** Node's own modules that V8 compiles when Node is started with these flags; none, if all fit the code that Node brings. */
export function compiledModules(nodeFlags: readonly string[]): readonly string[] {
  const args = [...nodeFlags, "--expose-internals", "--eval", PROGRAM];
  const output = execFileSync(process.execPath, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return JSON.parse(output) as readonly string[];
}
