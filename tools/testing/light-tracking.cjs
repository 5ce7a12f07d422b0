// Loaded before tests: node:test follows its tests by asynchronous context (AsyncLocalStorage) instead of by a hook on
// every promise, which costs a third of all processor time where tests are mostly promises. Nothing but node:test
// sees the difference. Worker threads run no tests.
const hooks = require("node:async_hooks");
const { channel } = require("node:diagnostics_channel");
const { isMainThread } = require("node:worker_threads");

if (isMainThread) followByContext();

/** node:test takes the functions that it needs as it loads, so they are others only until then. */
function followByContext() {
  const { createHook, executionAsyncId } = hooks;
  const running = new hooks.AsyncLocalStorage();
  // This is published within the scope of the test or suite that begins.
  channel("tracing:node.test:start").bindStore(running, () => executionAsyncId());
  hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
  hooks.executionAsyncId = () => running.getStore() ?? executionAsyncId();
  require("node:test");
  Object.assign(hooks, { createHook, executionAsyncId });
}
