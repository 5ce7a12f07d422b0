/** Ways to show a running node: a live screen on a terminal, lines elsewhere. */
import type { CoreEvent, Pod } from "../../../api/generated/types.ts";
import { podDisplayName } from "../../../api/pod/pod.ts";
import { rfc3339 } from "../../../api/text/timestamps.ts";
import { EMPTY_PICTURE, type NodePicture } from "../../../client/node-picture.ts";
import type { WallMs } from "../../../kit/clock.ts";
import { changeLines, NOTHING_PRINTED } from "../../../present/change-lines.ts";
import { renderScreen } from "../../../present/live-view.ts";
import { eventRow } from "../../../present/tables/event-row.ts";
import {
  type NodeSummary,
  type NodeUsage,
  summarizeNode,
} from "../../../present/tables/node-summary.ts";
import { podRow } from "../../../present/tables/pod-row.ts";
import { type Io, writeLines } from "../../io.ts";
import { createUsageMeter } from "./usage.ts";

/** Data about a node that a view shows. */
export interface NodeState {
  /** `undefined` while the agent does not answer. */
  readonly node: NodeSummary | undefined;
  readonly pods: readonly Pod[];
  /** Oldest first. */
  readonly events: readonly CoreEvent[];
}

/** Nothing is known. */
export const UNKNOWN_NODE: NodeState = { node: undefined, pods: [], events: [] };

/** Parts of a picture to show. */
export function stateOf(picture: NodePicture, usage?: NodeUsage): NodeState {
  const { overview, problems, pods, events } = picture;
  return {
    node: overview === undefined ? undefined : summarizeNode(overview, problems, usage),
    pods: [...pods.values()].toSorted((a, b) => compare(podDisplayName(a), podDisplayName(b))),
    events,
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Shows what becomes of a node. */
interface Viewer {
  show(picture: NodePicture): void;
  /** Shows a message beside the state of the node. */
  notice(text: string): void;
  /** Gives the terminal back. */
  close(): void;
}

/** The viewer that fits standard output. `footer` shows what the user can do. */
export function createViewer(io: Io, footer: readonly string[]): Viewer {
  return io.stdout.isTTY === true ? screenViewer(io, footer) : lineViewer(io);
}

const ENTER_SCREEN = "\u001b[?1049h\u001b[?25l";
const LEAVE_SCREEN = "\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";
const FRAME_MS = 1_000;
const MIN_FRAME_MS = 100;
const USUAL_SIZE = { columns: 80, rows: 24 };
const KEPT_NOTICES = 20;

function screenViewer(io: Io, footer: readonly string[]): Viewer {
  const { stdout } = io;
  const measure = createUsageMeter();
  let picture = EMPTY_PICTURE;
  const notices: string[] = [];
  let drawnAt = 0;
  let pending: NodeJS.Timeout | undefined;
  const draw = () => {
    clearTimeout(pending);
    pending = undefined;
    drawnAt = performance.now();
    const now = io.now();
    const state = stateOf(picture, measure());
    const size = {
      // A terminal without a size reports 0.
      columns: stdout.columns || USUAL_SIZE.columns,
      rows: stdout.rows || USUAL_SIZE.rows,
    };
    const screen = {
      node: state.node,
      pods: state.pods.map((pod) => podRow(pod, now)),
      events: state.events.map((event) => eventRow(event, now)),
      notices,
      footer,
      now,
    };
    const lines = renderScreen(screen, size, io.paint);
    stdout.write(HOME + lines.map((line) => line + CLEAR_LINE).join("\r\n") + CLEAR_BELOW);
  };
  const soon = () => {
    const waitMs = Math.max(0, drawnAt + MIN_FRAME_MS - performance.now());
    pending ??= setTimeout(draw, waitMs);
  };
  stdout.write(ENTER_SCREEN);
  const giveBack = () => stdout.write(LEAVE_SCREEN);
  process.once("exit", giveBack);
  stdout.on("resize", draw);
  const ages = setInterval(draw, FRAME_MS);
  draw();
  return {
    show: (now) => {
      picture = now;
      soon();
    },
    notice: (text) => {
      notices.push(text);
      if (notices.length > KEPT_NOTICES) notices.shift();
      soon();
    },
    close: () => {
      clearInterval(ages);
      clearTimeout(pending);
      stdout.off("resize", draw);
      process.off("exit", giveBack);
      giveBack();
    },
  };
}

function lineViewer(io: Io): Viewer {
  let printed = NOTHING_PRINTED;
  const stamp = () => rfc3339(io.now() as WallMs).slice(11, 19);
  const write = (lines: readonly string[]) =>
    writeLines(
      io.stdout,
      lines.map((line) => `${stamp()} ${line}`),
    );
  return {
    show: (picture) => {
      const { node, pods } = stateOf(picture);
      if (node === undefined) {
        // Reported again when the agent is back.
        printed = { ...printed, node: "" };
        return;
      }
      const now = io.now();
      const change = changeLines(
        printed,
        node,
        pods.map((pod) => podRow(pod, now)),
      );
      printed = change.printed;
      write(change.lines);
    },
    notice: (text) => write([text]),
    close: () => {},
  };
}
