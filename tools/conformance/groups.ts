// pure
/** Groups of specs that are run and published together. */

/** Which specs of a suite run. */
export interface Selection {
  /** Regular expressions; any of them is enough. */
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  /** ginkgo's label filter. */
  readonly labels?: string;
}

interface Group {
  readonly title: string;
  readonly about: string;
  readonly selection: Selection;
  /** Specs at once. */
  readonly procs: number;
}

/** By the word of the command line. */
export const GROUPS = {
  node: {
    title: "Node suite: NodeConformance, in parallel",
    about:
      "Specs of `e2e_node.test` marked NodeConformance and neither Serial nor Flaky, many at once.",
    selection: { focus: ["\\[NodeConformance\\]"], skip: ["\\[Flaky\\]", "\\[Serial\\]"] },
    procs: 20,
  },
  "node-serial": {
    title: "Node suite: NodeConformance, one after the other",
    about: "Specs of `e2e_node.test` marked NodeConformance and Serial, and not Flaky.",
    selection: {
      focus: ["\\[NodeConformance\\].*\\[Serial\\]", "\\[Serial\\].*\\[NodeConformance\\]"],
      skip: ["\\[Flaky\\]"],
    },
    procs: 1,
  },
  "node-others": {
    title: "Node suite: all other specs that run in parallel",
    about:
      "Specs of `e2e_node.test` that are not NodeConformance and need no special hardware, set-up or alpha gate.",
    selection: {
      focus: ["."],
      skip: ["\\[NodeConformance\\]", "\\[Flaky\\]", "\\[Serial\\]", "\\[Feature:", "\\[Alpha\\]"],
    },
    procs: 10,
  },
} as const satisfies Readonly<Record<string, Group>>;

/** Word of the command line for a group. */
export type GroupName = keyof typeof GROUPS;

export function isGroupName(word: string): word is GroupName {
  return Object.hasOwn(GROUPS, word);
}
