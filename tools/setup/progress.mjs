// What setup tells its user, on standard error: a line for each thing done, with a running clock on a terminal.
import { spawn } from "node:child_process";

/** Something the user has to act on; `fix` says how. */
export class SetupError extends Error {
  constructor(message, fix) {
    super(message);
    this.fix = fix;
  }
}

/** Writes one line. */
export function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const KEPT_OUTPUT_CHARACTERS = 20_000;

/**
 * Runs a command whose output is only of interest when it fails. `percent` may read a number from an
 * output line, `onLine` gets each piece of output. Resolves with code and the end of the output.
 */
export async function runQuietly(what, argv, { cwd, env, percent, onLine } = {}) {
  const clock = startClock(what);
  let output = "";
  const result = await new Promise((resolve) => {
    const child = spawn(argv[0], argv.slice(1), {
      cwd,
      env: env ?? process.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const read = (chunk) => {
      const text = chunk.toString();
      output = (output + text).slice(-KEPT_OUTPUT_CHARACTERS);
      onLine?.(text);
      if (percent) for (const line of text.split("\n")) clock.percent(percent(line));
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", (error) => resolve({ code: 127, output: error.message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
  clock.stop(result.code === 0);
  return result;
}

/** The last lines of a failed command, indented. */
export function tail(output, lines = 15) {
  return output
    .trimEnd()
    .split("\n")
    .slice(-lines)
    .map((line) => `    ${line}`)
    .join("\n");
}

/** Whether a package tool's output says that nothing could be reached. */
export function looksOffline(output) {
  return /EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|Temporary failure resolving|Could not resolve|Could not connect|Unable to connect|Network is unreachable/.test(
    output,
  );
}

function startClock(what) {
  const started = Date.now();
  const terminal = process.stderr.isTTY === true;
  const seconds = () => ((Date.now() - started) / 1000).toFixed(1);
  let frame = 0;
  let percent;
  if (!terminal) say(`${what} …`);
  const draw = () => {
    const share = percent === undefined ? "" : ` ${percent} %`;
    frame = (frame + 1) % FRAMES.length;
    process.stderr.write(`\r\u001b[Ksetup: ${FRAMES[frame]} ${what}${share} (${seconds()} s)`);
  };
  const timer = terminal ? setInterval(draw, 100) : undefined;
  return {
    percent(value) {
      if (value !== undefined && Number.isFinite(value)) percent = Math.floor(value);
    },
    stop(good) {
      if (timer) clearInterval(timer);
      if (terminal) process.stderr.write("\r\u001b[K");
      say(`${what}: ${good ? "done" : "failed"} (${seconds()} s)`);
    },
  };
}
