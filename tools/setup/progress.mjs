// What setup reports to its user, on standard error: a line for each thing done, with a running clock on a terminal.
import { spawn } from "node:child_process";
import { constants } from "node:os";

/** Something the user has to act on; `fix` says how. */
export class SetupError extends Error {
  constructor(message, fix) {
    super(message);
    this.fix = fix;
  }
}

/** A signal asked us to end while a command was running, which has ended as well. */
export class Interrupted extends SetupError {
  constructor(signal) {
    super(`ended by ${signal}`);
    this.signal = signal;
  }
}

/** Writes one line. */
export function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const KEPT_OUTPUT_CHARACTERS = 20_000;
const ENDING_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
/** A command that has not ended so long after it was asked to is killed. */
const LAST_WARNING_MS = 10_000;

/**
 * Runs a command whose output is only of interest when it fails. `percent` may read a number from an
 * output line, `onLine` gets each piece of output. Resolves with code and the end of the output. Throws
 * `Interrupted` when this process was asked to end meanwhile; then the command and all of its group have ended first.
 * `gently` is for package tools, which finish what they have begun.
 */
export async function runQuietly(what, argv, { cwd, env, percent, onLine, gently } = {}) {
  const clock = startClock(what);
  let output = "";
  let ending;
  const result = await new Promise((resolve) => {
    const child = spawn(argv[0], argv.slice(1), {
      cwd,
      env: env ?? process.env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    ending = endWithUs(child, gently);
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
  const signal = ending.stop();
  clock.stop(result.code === 0);
  if (signal !== undefined) throw new Interrupted(signal);
  return result;
}

/**
 * Hands signals that end this process to the child's group, which nobody else would end: npm and build tools start
 * processes of their own. `stop` ends that, and what is left of an interrupted group; it gives the signal that came.
 */
function endWithUs(child, gently) {
  let came;
  let last;
  const toGroup = (signal) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  const onSignal = (signal) => {
    const isFirst = came === undefined;
    came ??= signal;
    if (gently) child.kill("SIGINT");
    else toGroup("SIGTERM");
    if (isFirst && !gently) last = setTimeout(toGroup, LAST_WARNING_MS, "SIGKILL");
  };
  for (const signal of ENDING_SIGNALS) process.on(signal, onSignal);
  return {
    stop() {
      for (const signal of ENDING_SIGNALS) process.off(signal, onSignal);
      clearTimeout(last);
      if (came !== undefined && !gently) toGroup("SIGKILL");
      return came;
    },
  };
}

/** Ends this process by a signal, so that a shell sees the same; by some signals no process can be ended. */
export function endBy(signal) {
  process.exitCode = 128 + (constants.signals[signal] ?? 0);
  process.kill(process.pid, signal);
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
export function seemsOffline(output) {
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
