-- wrk: the same signed body again and again, each time as a delivery of its own; prints one JSON line.
local file = io.open(os.getenv("PAYLOAD"), "rb")
local body = file:read("*a")
file:close()

wrk.method = "POST"
wrk.body = body
wrk.headers["Content-Type"] = "application/json"
wrk.headers["User-Agent"] = "GitHub-Hookshot/0000000"
wrk.headers["X-GitHub-Event"] = "pull_request"
wrk.headers["X-Hub-Signature-256"] = os.getenv("SIGNATURE")

local sent, threads = 0, 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function request()
  sent = sent + 1
  wrk.headers["X-GitHub-Delivery"] = string.format("%s-%04x-11ef-8000-%012x", os.getenv("RUN"), number, sent)
  return wrk.format()
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"answered":%d,"seconds":%f,"p50_ms":%f,"p99_ms":%f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout
  ))
end
