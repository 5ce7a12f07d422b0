// Loaded into the agent by a drop-in of its unit: SIGUSR2 blocks its event loop for ever.
process.on("SIGUSR2", () => {
  for (;;);
});
