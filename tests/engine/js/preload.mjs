// Loaded before an unmodified program: what is meant for Vercel's API goes to the engine.
const original = globalThis.fetch;
globalThis.fetch = (resource, options) => {
  const url = typeof resource === "object" && "url" in resource ? resource.url : String(resource);
  if (!url.startsWith("https://vercel.com/api")) return original(resource, options);
  const here = url.replace("https://vercel.com/api", process.env.ENGINE_URL);
  return typeof resource === "object" && "url" in resource
    ? original(new Request(here, resource), options)
    : original(here, options);
};
