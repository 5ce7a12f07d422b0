// Pods whose images are not to be had, or whose containers cannot be made.
import type { Container } from "../../../src/api/generated/types.ts";
import { container, IMAGE, type Play, pod, SLEEP, type Story } from "./story.ts";

const of = (image: string, more: Partial<Container> = {}) =>
  pod({ containers: [container(SLEEP, { image, ...more })] });

/** The registry answers every pull with this. */
const refusing =
  (why: string, seconds = 30): Play =>
  async (node) => {
    node.refusePulls(why);
    node.create();
    await node.pass(seconds);
  };

export const IMAGE_STORIES: readonly Story[] = [
  { name: "its image does not exist", pod: of("registry.example.com/none:1") },
  {
    name: "its image does not exist for ten minutes",
    pod: of("registry.example.com/none:1"),
    play: async (node) => {
      node.create();
      await node.pass(600);
    },
  },
  {
    name: "its image needs credentials",
    pod: of("nodelet.test/private:1"),
    play: refusing(
      'failed to pull and unpack image "nodelet.test/private:1": failed to authorize: 401 Unauthorized',
    ),
  },
  {
    name: "the registry cannot be reached",
    pod: of("nodelet.test/far:1"),
    play: refusing(
      'failed to pull and unpack image "nodelet.test/far:1": dial tcp: lookup nodelet.test: no such host',
    ),
  },
  {
    name: "its image may not be pulled and is not there",
    pod: of("nodelet.test/other:1", { imagePullPolicy: "Never" }),
  },
  { name: "the name of its image is none", pod: of("nodelet.test/Upper Case:1") },
  {
    name: "its image takes 40 seconds to be pulled",
    pod: of("nodelet.test/large:1"),
    play: async (node) => {
      const { store } = node.world.runtime;
      store.pullTakes = (_, signal) => node.world.clock.sleep(40_000, signal);
      node.create();
      await node.pass(60);
    },
  },
  {
    name: "its image is still being pulled",
    pod: of("nodelet.test/large:1"),
    play: async (node) => {
      const { store } = node.world.runtime;
      store.pullTakes = (_, signal) => node.world.clock.sleep(400_000, signal);
      node.create();
      await node.pass(20);
    },
  },
  {
    name: "it was deleted while its image was pulled",
    pod: of("nodelet.test/large:1"),
    play: async (node) => {
      const { store } = node.world.runtime;
      store.pullTakes = (_, signal) => node.world.clock.sleep(400_000, signal);
      node.create();
      await node.pass(20);
      node.delete();
      await node.pass(20);
    },
  },
  {
    name: "the image of one of two containers does not exist",
    pod: pod({
      containers: [
        container(SLEEP),
        container(SLEEP, { name: "helper", image: "registry.example.com/none:1" }),
      ],
    }),
  },
  {
    name: "it must not run as root, and its image does",
    pod: pod({ containers: [container(SLEEP, { securityContext: { runAsNonRoot: true } })] }),
  },
  {
    name: "the command does not exist in the image",
    pod: pod({ containers: [container(SLEEP, { command: ["/bin/none"] })] }),
  },
  {
    name: "the runtime does not create its sandbox",
    pod: of(IMAGE),
    play: async (node) => {
      node.refusals.set("runSandbox", "failed to setup network for sandbox: no free address");
      node.create();
      await node.pass(60);
    },
  },
  {
    name: "the runtime creates its sandbox at the third attempt",
    pod: of(IMAGE),
    play: async (node) => {
      node.refusals.set("runSandbox", "failed to setup network for sandbox: no free address");
      node.create();
      await node.pass(20);
      node.refusals.clear();
      await node.pass(30);
    },
  },
  {
    name: "the runtime does not create its container",
    pod: of(IMAGE),
    play: async (node) => {
      node.refusals.set(
        "createContainer",
        "failed to create containerd container: no space left on device",
      );
      node.create();
      await node.pass(30);
    },
  },
  {
    name: "its RuntimeClass does not exist",
    pod: pod({ runtimeClassName: "gvisor" }),
  },
  {
    name: "the runtime has no network",
    pod: of(IMAGE),
    runtime: { networkReady: false },
  },
  {
    name: "the runtime has no network for a minute",
    pod: of(IMAGE),
    runtime: { networkReady: false },
    play: async (node) => {
      node.create();
      await node.pass(60);
      node.world.runtime.options.networkReady = true;
      await node.pass(60);
    },
  },
  {
    name: "the container runtime does not answer",
    pod: of(IMAGE),
    play: async (node) => {
      node.world.runtime.goDown();
      await node.pass(5);
      node.create();
      await node.pass(30);
    },
  },
];
