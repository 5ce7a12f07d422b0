// Makes a checkout ready and then becomes the program that was asked for; started by tools/setup.mjs.
// This file and all it imports are plain JavaScript without packages, for any Node from 18 on.
import { buildStep } from "./build-step.mjs";
import { withLock } from "./lock.mjs";
import { nodeBinary, npmStep } from "./npm-step.mjs";
import { packagesStep } from "./packages-step.mjs";
import { becomeProgram } from "./program.mjs";
import { endBy, Interrupted, SetupError, say } from "./progress.mjs";
import { SETUP_LOCK } from "./root.mjs";

/** What each profile needs. `packages: required` fails when they cannot be had, `wanted` goes on. */
const PROFILES = {
  run: { packages: "required", build: true },
  build: { packages: "none", build: true, types: true },
  check: { packages: "none", build: false },
  test: { packages: "wanted", build: true },
};

/** `npm test` without arguments: what needs more than this machine has is left out, and the packages for it. */
const NEWCOMERS_TESTS = "tools/run-tests.mjs";

const USAGE = `usage: node tools/setup.mjs ${Object.keys(PROFILES).join("|")} [-- program arguments…]`;

/** Runs `run|build|check|test [-- program arguments…]`. What is in place already is not done again. */
export async function setUp(argv) {
  try {
    await prepareAndStart(argv);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
    if (error.fix) say(`to fix it: ${error.fix}`);
    if (error instanceof Interrupted) return endBy(error.signal);
    process.exitCode = 1;
  }
}

async function prepareAndStart(argv) {
  const [name, separator, ...program] = argv;
  const profile = PROFILES[name];
  if (!profile || (separator !== undefined && (separator !== "--" || program.length === 0)))
    throw new SetupError(USAGE);
  checkMachine();
  await withLock(SETUP_LOCK, async () => {
    await npmStep();
    await packagesStep(name, profile.packages, { whole: program.join(" ") !== NEWCOMERS_TESTS });
    if (profile.build) await buildStep({ types: profile.types === true });
  });
  if (program.length > 0) becomeProgram(program, nodeBinary(), { endsLeft: name !== "run" });
}

function checkMachine() {
  if (process.platform !== "linux")
    throw new SetupError(
      `nodelet runs on Linux, this is ${process.platform}`,
      "use a Linux machine",
    );
  if (process.arch !== "x64" && process.arch !== "arm64")
    throw new SetupError(
      `there is no Node 26 on npm for ${process.arch}`,
      "use an x86-64 or arm64 machine",
    );
}
