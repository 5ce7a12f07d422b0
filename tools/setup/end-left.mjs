// Ends what an interrupted run has started, wherever it went: into groups, sessions and other hands of its own.
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Processes inherit it, so that they can be found when who started them is gone. A run inside a run has both names. */
const VARIABLE = "NODELET_TEST_RUN";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
const POLL_MS = 50;
/** A box ends its containers, unmounts and removes its cgroups. */
const BOX_GRACE_MS = 20_000;

/**
 * `signal` is aborted when this process is asked to end; `endLeft` then ends what the run has left. Further signals
 * change nothing: npm hands down what the terminal or `timeout` gives to all of the group anyway.
 */
export function leaveOnSignal() {
  const leave = new AbortController();
  const mark = markRun();
  let known = [];
  const onSignal = () => {
    if (leave.signal.aborted) return;
    // While it can still be seen who started whom.
    known = startedBy(process.pid, mark);
    leave.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    /** No signal is waited for any more. */
    stop() {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
    signal: leave.signal,
    endLeft: () => endLeft({ mark, known, graceMs: BOX_GRACE_MS }),
  };
}

/** Marks this process' future children as those of a run; gives the mark. */
export function markRun() {
  const mark = randomBytes(8).toString("hex");
  process.env[VARIABLE] = [process.env[VARIABLE], mark].filter(Boolean).join(" ");
  return mark;
}

/** All that descends from `pid`, and what bears the mark, as `{ id, parent, started }`. Zombies are nobody. */
export function startedBy(pid, mark) {
  const processes = listProcesses();
  const found = new Set([pid]);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const { id, parent } of processes) if (found.has(parent)) found.add(id);
  }
  const isMarked = ({ id }) => readOrEmpty(`/proc/${id}/environ`).includes(mark);
  for (const each of processes) if (isMarked(each)) found.add(each.id);
  found.delete(pid);
  return processes.filter(({ id }) => found.has(id));
}

/**
 * Ends what an interrupted run has left when its test files have ended: `known` of them, and what bears the mark. The
 * marked are killed. The others belong to boxes, which clean up when those who use them are gone; after `graceMs` they
 * are killed, too.
 */
export async function endLeft({ mark, known, graceMs }) {
  const deadline = performance.now() + graceMs;
  const isMarked = ({ id }) => readOrEmpty(`/proc/${id}/environ`).includes(mark);
  const goesOn = ({ id, started }) => processAt(id)?.started === started;
  for (;;) {
    const left = [...known.filter(goesOn), ...startedBy(process.pid, mark)];
    if (left.length === 0) return;
    const isLate = performance.now() > deadline;
    for (const each of left) if (isLate || isMarked(each)) kill(each.id);
    if (performance.now() > deadline + graceMs) return;
    await sleep(POLL_MS);
  }
}

function listProcesses() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => processAt(id) ?? []);
}

/** Parent and start time, as numbers of processes are used again; undefined for who has ended. */
function processAt(id) {
  const stat = readOrEmpty(`/proc/${id}/stat`);
  const [state, parent, ...more] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (stat === "" || state === "Z" || state === "X") return undefined;
  return { id: Number(id), parent: Number(parent), started: more[17] };
}

function kill(id) {
  try {
    process.kill(id, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
