// A recording of a minute of chaos plays back to the same decisions, and says where another version departs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRandom } from "../../src/kit/random.ts";
import {
  FLIGHT_FORMAT,
  type Flight,
  type FlightStep,
  flightLines,
  newestWithin,
} from "../../src/pipeline/pods/flight/flight.ts";
import { decodeFlight, encodeLine, Redactor } from "../../src/pipeline/pods/flight/flight-text.ts";
import { type Deciders, replayFlight } from "../../src/pipeline/pods/flight/replay.ts";
import { planPod } from "../../src/pipeline/pods/plan/plan.ts";
import { transition } from "../../src/pipeline/pods/record/transition.ts";
import { manifest, TEMPLATES } from "./pod-templates.ts";
import { crash, loseSandbox } from "./scenario.ts";
import { MANIFESTS, World } from "./world.ts";

const SEEDS = 5;
const SECRET = "hunter2-of-the-pod";
const STEPS = 30;
const STEP_MS = 2_000;

/** The recording of a node on which containers crash, sandboxes die and the runtime fails for a minute. */
async function recordChaos(seed: number): Promise<(maxLength: number) => string> {
  const world = new World(seed);
  const random = createSeededRandom(seed + 2);
  Object.assign(world.runtime.options, { latencyMs: 50, faults: 0.1, eventLoss: 0.2 });
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  world.startAgent();
  for (let step = 0; step < STEPS; step += 1) {
    const name = `p${step % 6}`;
    const template = TEMPLATES[Math.floor(random.next() * TEMPLATES.length)];
    if (template && step < 12) {
      const details = { graceSeconds: 1, revision: step, probed: random.next() < 0.5 };
      const text = manifest(name, template, details).replace(
        '"env":[',
        // A value that is a word of the agent's own messages is taken out of these, too.
        `"env":[{"name":"TOKEN","value":"${SECRET}"},{"name":"WORD","value":"Stopping"},`,
      );
      await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, text, 0o644);
    }
    if (random.next() < 0.5) crash(world, random);
    if (random.next() < 0.15) loseSandbox(world, random);
    await world.advance(STEP_MS);
  }
  const { flight } = world.agent?.pipeline ?? assert.fail("the agent is not up");
  const redactor = new Redactor();
  const header = {
    kind: "header",
    format: FLIGHT_FORMAT,
    node: "sim",
    version: "0",
    atMs: 0,
    dropped: 0,
  } as const;
  const kept = flight.steps();
  await world.stopAgent();
  for (const { before } of kept) redactor.learn([before.pod, before.desired.pod]);
  const encode = (step: FlightStep) => encodeLine(step, redactor);
  return (maxLength) => {
    const steps = [...newestWithin(kept, maxLength, encode)].reverse();
    return [encodeLine(header, redactor), ...flightLines(steps, encode)].join("");
  };
}

const play = ({ steps }: Flight, deciders?: Deciders) => [...replayFlight(steps, deciders)];

for (let seed = 1; seed <= SEEDS; seed += 1)
  test(`replayFlight: a minute of chaos is decided as recorded, step by step (seed ${seed})`, async () => {
    const dump = await recordChaos(seed);
    const text = dump(Number.POSITIVE_INFINITY);
    assert.ok(!text.includes(SECRET), "the recording holds the value of an environment variable");
    const flight = decodeFlight(text);
    const played = play(flight);
    assert.deepEqual(played.filter(({ departure }) => departure).slice(0, 3), []);
    const decided = played.flatMap((step) => step.decided);
    assert.ok(played.length > 200, `${played.length} steps`);
    for (const kind of ["createSandbox", "startContainer", "delayRestart"])
      assert.ok(
        decided.some((text) => text.startsWith(kind)),
        kind,
      );

    const short = dump(text.length / 3);
    const lately = play(decodeFlight(short));
    assert.ok(short.length < text.length / 2 && lately.length > 20, `${short.length} characters`);
    assert.equal(lately.at(-1)?.atMs, played.at(-1)?.atMs);
    assert.deepEqual(lately.filter(({ departure }) => departure).slice(0, 3), []);

    const withoutBackoff: Deciders = {
      transition,
      planPod: (record, context) =>
        planPod(record, { ...context, restartBackoff: { initialMs: 0, maxMs: 0 } }),
    };
    const first = play(flight, withoutBackoff).find(({ departure }) => departure);
    const expected = flight.steps.findIndex(
      (step) => step.kind === "plan" && JSON.stringify(step.plan).includes('"backoff":{'),
    );
    assert.ok(first && first.number <= expected + 1, `${first?.number} of ${expected + 1}`);
    assert.match(first.departure?.path ?? "", /backoff|standing|waits|wakeAt|actions/);

    const deaf: Deciders = {
      planPod,
      transition: (record, signal, now) =>
        transition(record, signal.kind === "observed" ? { kind: "tick" } : signal, now),
    };
    const departed = play(flight, deaf).find(({ departure }) => departure);
    assert.ok(departed, "nobody misses observations");
  });

test("decodeFlight says which line cannot be read", () => {
  const header = JSON.stringify({ kind: "header", format: FLIGHT_FORMAT });
  const cases: readonly (readonly [string, RegExp])[] = [
    ["", /^Error: line 1: this is no recording of nodelet$/],
    ["nonsense", /^Error: line 1: this line is not valid JSON/],
    ['{"kind":"plan"}', /^Error: line 1: this is no recording of nodelet$/],
    ['{"kind":"header","format":99}', /^Error: line 1: format 99 is not 1/],
    [
      `${header}\n{"kind":"signal","uid`,
      /^Error: line 2: this line is not valid JSON; the file may be cut off$/,
    ],
    [`${header}\n{"kind":"other"}`, /^Error: line 2: "other" is no kind of step$/],
  ];
  for (const [text, problem] of cases) assert.throws(() => decodeFlight(text), problem);
});

test("Redactor takes out what containers are given and what they write", () => {
  const redactor = new Redactor();
  const pod = {
    metadata: { name: "web", annotations: { note: "annotated-secret" } },
    spec: {
      containers: [
        {
          name: "c",
          image: "i",
          command: ["run", "--password=commanded"],
          args: ["argued-secret"],
          env: [
            { name: "A", value: "given-secret" },
            { name: "B", valueFrom: { fieldRef: {} } },
          ],
          livenessProbe: {
            httpGet: { httpHeaders: [{ name: "Authorization", value: "Bearer abc" }] },
          },
        },
      ],
    },
  };
  const clean = JSON.stringify([
    redactor.redact(pod),
    redactor.redact({ exitCode: 1, message: "wrote its-own-secret" }),
    redactor.redact({
      reason: "CreateContainerError",
      message: "no such file: --password=commanded",
    }),
  ]);
  assert.doesNotMatch(clean, /annotated|commanded|argued|given|Bearer|its-own/);
  for (const kept of [
    '"name":"web"',
    '"image":"i"',
    '"name":"A"',
    '"valueFrom"',
    "CreateContainerError",
    "no such file",
  ])
    assert.ok(clean.includes(kept), kept);
});
