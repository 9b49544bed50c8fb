-- Sends the requests of the file BENCH_REQUESTS in random order: lines of path, tab, body. Ends with its figures as JSON.
local requests = {}

function init()
  for line in io.lines(os.getenv("BENCH_REQUESTS")) do
    local path, body = line:match("^([^\t]*)\t(.*)$")
    requests[#requests + 1] = wrk.format(os.getenv("BENCH_METHOD"), path, nil, body ~= "" and body or nil)
  end
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency)
  local errors = summary.errors.status + summary.errors.timeout + summary.errors.read + summary.errors.connect
  io.write(string.format('{"requests":%d,"seconds":%f,"p50_ms":%f,"p99_ms":%f,"errors":%d}\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000, errors))
end
